package dev.waybill.engine;

import dev.waybill.definition.Invariant;
import dev.waybill.definition.InvariantReader;
import dev.waybill.definition.Sequence;
import dev.waybill.definition.Sequence.Block;
import dev.waybill.definition.Sequence.ForEach;
import dev.waybill.definition.Sequence.Loop;
import dev.waybill.definition.Sequence.Parallel;
import dev.waybill.definition.Sequence.Router;
import dev.waybill.definition.Sequence.Saga;
import dev.waybill.definition.Sequence.Step;
import dev.waybill.definition.Sequence.TryCatch;
import dev.waybill.engine.Engine.Loaded;
import dev.waybill.store.InvariantDeclaration;
import dev.waybill.store.SequenceRow;
import dev.waybill.store.SequenceStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Parsed sequence versions. A version is immutable, so a parsed one never goes stale; what can be added are invariants, which are read
 * again when they are {@link #INVARIANTS_FRESH} old. The cache is bounded.
 */
public final class SequenceCache {
    private static final int MAX_SEQUENCES = 1_000;

    /** An invariant that was declared holds on every node after this time. */
    public static final Duration INVARIANTS_FRESH = Duration.ofSeconds(5);

    private record Key(String tenant, UUID id) {}

    private record Kept(Loaded loaded, long readAtNanos) {}

    private final SequenceStore store;
    private final Function<SequenceRow, Sequence> parser;
    private final Map<Key, Kept> cache = new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, Kept> eldest) {
            return size() > MAX_SEQUENCES;
        }
    };

    public SequenceCache(SequenceStore store, Function<SequenceRow, Sequence> parser) {
        this.store = store;
        this.parser = parser;
    }

    /** The version, or null when there is none. */
    @Nullable Loaded get(String tenant, UUID id) {
        Key key = new Key(tenant, id);
        long now = System.nanoTime();
        Kept known;
        synchronized (cache) {
            known = cache.get(key);
        }
        if (known != null && now - known.readAtNanos < INVARIANTS_FRESH.toNanos()) {
            return known.loaded;
        }
        Loaded loaded = known != null ? known.loaded : load(tenant, id);
        if (loaded == null) {
            return null;
        }
        List<Invariant> invariants = new ArrayList<>(loaded.sequence().invariants());
        for (InvariantDeclaration declared : store.invariants(tenant, id)) {
            invariants.add(InvariantReader.parse(EngineJson.read(declared.definition())));
        }
        Loaded fresh = new Loaded(loaded.sequence(), loaded.stepIds(), List.copyOf(invariants), loaded.sagas());
        synchronized (cache) {
            cache.put(key, new Kept(fresh, now));
        }
        return fresh;
    }

    private @Nullable Loaded load(String tenant, UUID id) {
        SequenceRow row = store.get(tenant, id).orElse(null);
        if (row == null) {
            return null;
        }
        Sequence sequence = parser.apply(row);
        List<String> ids = new ArrayList<>();
        collect(sequence.blocks(), ids);
        return new Loaded(sequence, List.copyOf(ids), List.of(), Sagas.of(sequence));
    }

    /** The version, parsed, or null when there is none. */
    public @Nullable Sequence sequence(String tenant, UUID id) {
        Loaded loaded = get(tenant, id);
        return loaded == null ? null : loaded.sequence();
    }

    private static void collect(List<Block> blocks, List<String> ids) {
        for (Block block : blocks) {
            switch (block) {
                case Step step -> ids.add(step.id());
                case Parallel parallel -> parallel.branches().forEach(branch -> collect(branch, ids));
                case Router router -> {
                    router.routes().forEach(route -> collect(route.blocks(), ids));
                    collect(router.otherwise(), ids);
                }
                case TryCatch tryCatch -> {
                    collect(tryCatch.tryBlock(), ids);
                    collect(tryCatch.catchBlock(), ids);
                    collect(tryCatch.finallyBlock(), ids);
                }
                case Saga saga -> saga.steps().forEach(step -> {
                    collect(List.of(step.action()), ids);
                    if (step.compensation() != null) {
                        collect(List.of(step.compensation()), ids);
                    }
                });
                case Loop loop -> {
                    ids.add(loop.id());
                    collect(loop.body(), ids);
                }
                case ForEach forEach -> {
                    ids.add(forEach.id());
                    collect(forEach.body(), ids);
                }
            }
        }
    }
}

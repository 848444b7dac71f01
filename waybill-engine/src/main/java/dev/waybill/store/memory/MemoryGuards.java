package dev.waybill.store.memory;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.Commit;
import dev.waybill.store.InvariantRows.Guard;
import dev.waybill.store.InvariantRows.Holder;
import dev.waybill.store.ReceiptRow;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** Content that one effect alone may have. Not thread-safe: the store's lock guards it. */
final class MemoryGuards {
    private record Key(String tenant, String scope, String kind, String fingerprint, String content) {
        static Key of(String tenant, Guard guard) {
            return new Key(tenant, guard.scope(), guard.kind(), guard.fingerprint(), guard.contentSha256());
        }
    }

    private record Held(Holder by, @Nullable Instant expires) {}

    private final Map<Key, Held> held = new HashMap<>();
    private final BiPredicate<InstanceKey, String> unresolved;

    /** @param unresolved whether the effect at this path may still have happened or happen */
    MemoryGuards(BiPredicate<InstanceKey, String> unresolved) {
        this.unresolved = unresolved;
    }

    Map<String, Holder> duplicates(Commit commit, Instant now) {
        String tenant = commit.instance().tenant();
        Map<String, Holder> duplicates = new HashMap<>();
        Map<Key, Holder> inCommit = new HashMap<>();
        for (Guard guard : commit.invariants().guards()) {
            Key key = Key.of(tenant, guard);
            Held found = held.get(key);
            boolean stands = found != null
                    && (found.expires == null
                            || found.expires.isAfter(now)
                            || unresolved.test(new InstanceKey(tenant, found.by.instance()), found.by.path()));
            Holder first = found != null && stands ? found.by : inCommit.computeIfAbsent(key, _ -> holder(commit, guard));
            if (!first.instance().equals(commit.instance().id()) || !first.path().equals(guard.path())) {
                duplicates.put(
                        guard.path(), new Holder(guard.invariant(), first.instance(), first.path(), first.attempt(), first.receipt()));
            }
        }
        return duplicates;
    }

    void take(Commit commit, Instant now) {
        for (Guard guard : commit.invariants().guards()) {
            Holder ours = holder(commit, guard);
            Instant expires = guard.windowMillis() == null ? null : MemoryInstance.later(now, guard.windowMillis());
            held.merge(
                    Key.of(commit.instance().tenant(), guard), new Held(ours, expires),
                    (old, fresh) -> old.by.instance().equals(ours.instance()) && old.by.path().equals(ours.path()) ? old : fresh);
        }
    }

    void free(InstanceKey instance, Collection<String> paths) {
        held.entrySet()
                .removeIf(it -> it.getKey().tenant.equals(instance.tenant())
                        && it.getValue().by.instance().equals(instance.id())
                        && paths.contains(it.getValue().by.path()));
    }

    /** What is held at one moment. */
    static final class Copy {
        private final Map<Key, Held> held;

        private Copy(Map<Key, Held> held) {
            this.held = held;
        }
    }

    Copy copy() {
        return new Copy(Map.copyOf(held));
    }

    void restore(Copy copy) {
        held.clear();
        held.putAll(copy.held);
    }

    private static Holder holder(Commit commit, Guard guard) {
        UUID receipt = commit.intents().stream()
                .filter(it -> it.path().equals(guard.path()) && it.attempt() == guard.attempt())
                .map(ReceiptRow::id)
                .findFirst()
                .orElseThrow();
        return new Holder(guard.invariant(), commit.instance().id(), guard.path(), guard.attempt(), receipt);
    }
}

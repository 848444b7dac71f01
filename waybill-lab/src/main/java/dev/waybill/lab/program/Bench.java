package dev.waybill.lab.program;

import dev.waybill.EngineOptions;
import dev.waybill.Waybill;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Resolution;
import dev.waybill.operate.RunView;
import dev.waybill.operate.StartRequest;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.Store;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/** A whole engine in this process that runs programs, with a person who decides as their scripts say. */
public final class Bench implements AutoCloseable {
    private static final String TENANT = "default";
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    /** Longer than deadline, timeout and settle of any program here. */
    private static final Duration QUIET = Duration.ofMinutes(1);
    private static final Duration LEASE = Duration.ofHours(10);
    private static final long LONGEST_BETWEEN_PAUSES_NANOS = 5_000_000;
    private static final int MOST_DECISIONS = 200;

    private final ScriptedProvider provider = new ScriptedProvider();
    private final Waybill engine;
    private final AtomicLong ahead = new AtomicLong();

    /** @param store given the clock of its database, which a person may set forward instead of waiting until an effect is quiet */
    public Bench(Function<InstantSource, Store> store, long longestPauseNanos) {
        InstantSource database = () -> Instant.now(java.time.Clock.systemUTC()).plusMillis(ahead.get());
        this.engine = Waybill.store(store.apply(database))
                .options(EngineOptions.DEFAULT.withLease(LEASE, Duration.ofMinutes(1)).withSendDeadline(Duration.ofSeconds(30)).withAcceptLossOnWeakStore(true))
                .handler(ProgramHandler.NAME, new ProgramHandler(
                        provider, InstantSource.system(),
                        () -> longestPauseNanos == 0 ? 0 : ThreadLocalRandom.current().nextLong(longestPauseNanos)))
                .open();
    }

    /** Runs it to its end, or to where nobody decides any more. */
    public Actual run(Program program) {
        return run(program, 0);
    }

    /** @param pauses how often a person pauses and resumes it meanwhile: that must change nothing */
    public Actual run(Program program, int pauses) {
        String run = program.name();
        provider.play(run, program.script());
        try {
            engine.sequences().publish(TENANT, program.document());
            UUID id = engine.runs().start(StartRequest.of(program.name(), program.data(run))).id();
            for (int i = 0; i < pauses; i++) {
                pausedAndResumed(id);
            }
            RunView view = engine.runs().await(TENANT, id, PATIENCE);
            for (int i = 0; decided(view, program, run); i++) {
                if (i >= MOST_DECISIONS) {
                    throw new IllegalStateException(run + " needs ever more decisions: " + view.reasons());
                }
                view = engine.runs().await(TENANT, id, PATIENCE);
            }
            return actual(view, run);
        } finally {
            provider.forget(run);
        }
    }

    private void pausedAndResumed(UUID id) {
        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(LONGEST_BETWEEN_PAUSES_NANOS));
        try {
            engine.runs().pause(TENANT, id, "lab");
            LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(LONGEST_BETWEEN_PAUSES_NANOS));
            engine.runs().resume(TENANT, id, "lab");
        } catch (WaybillException e) {
            if (!e.code().equals("RUN_ENDED")) {
                throw e;
            }
        }
    }

    private Actual actual(RunView view, String run) {
        Map<String, Actual.Effect> effects = new LinkedHashMap<>();
        Map<String, List<EffectView>> byPath = new LinkedHashMap<>();
        engine.runs().effects(TENANT, view.id()).stream()
                .sorted(Comparator.comparing((EffectView effect) -> effect.receipt().attempt()))
                .forEach(effect -> byPath.computeIfAbsent(effect.receipt().path(), p -> new ArrayList<>()).add(effect));
        byPath.forEach((path, attempts) -> effects.put(path, new Actual.Effect(
                attempts.stream().map(one -> one.state().wire()).toList(),
                provider.applied(run, path),
                Actual.key(attempts.getFirst().receipt().idempotencyKey(), run),
                provider.begun(run, path),
                provider.ended(run, path))));
        JsonNode none = JsonNodeFactory.instance.nullNode();
        return new Actual(
                view.state().wire(),
                view.output(),
                Actual.error(view.error() == null ? none : view.error()),
                engine.runs().outputs(TENANT, view.id()),
                effects,
                view.state() == InstanceState.WAITING ? Actual.waits(view.reasons()) : Set.of());
    }

    /** Decides on everything the run waits for; false when there is nothing that anybody will decide. */
    private boolean decided(RunView run, Program program, String name) {
        if (run.state() != InstanceState.WAITING) {
            return false;
        }
        boolean any = false;
        for (JsonNode reason : run.reasons()) {
            if (!reason.has("effect_id")) {
                continue;
            }
            UUID receipt = UUID.fromString(reason.path("effect_id").asString());
            String path = reason.path("path").asString();
            Script script = program.script();
            if (reason.path("reason").asString().equals("output_lost")) {
                engine.effects().supplyOutput(TENANT, receipt, script.output(path), "from the provider's record", null, "lab");
                any = true;
                continue;
            }
            Script.Decision decision = provider.decision(name, path, receipt);
            any |= decision != Script.Decision.LEAVE;
            switch (decision) {
                case COMMIT -> resolve(receipt, EffectState.COMMITTED, script.providerId(path), script.output(path), Resolution.Then.CONTINUE);
                case VERIFY -> resolve(receipt, EffectState.VERIFIED, null, script.output(path), Resolution.Then.CONTINUE);
                case RESEND -> {
                    ahead.addAndGet(QUIET.toMillis());
                    resolve(receipt, EffectState.ABANDONED, null, null, Resolution.Then.RESEND);
                }
                case FAIL -> resolve(receipt, EffectState.ABANDONED, null, null, Resolution.Then.FAIL);
                case LEAVE, NONE, SUPPLY -> {}
            }
        }
        return any;
    }

    private void resolve(
            UUID receipt, EffectState state, @Nullable String providerId,
            @Nullable JsonNode output, Resolution.Then then) {
        engine.effects().resolve(TENANT, receipt, new Resolution(state, "as the script says", null, providerId, output, then, "lab"));
    }

    @Override
    public void close() {
        engine.close();
    }
}

package dev.waybill.engine;

import dev.waybill.EngineOptions;
import dev.waybill.definition.Invariant;
import dev.waybill.definition.Sequence;
import dev.waybill.handler.Handler;
import dev.waybill.json.SecretSource;
import dev.waybill.recorder.Recorder;
import dev.waybill.store.Store;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * What every turn of a node shares; wired once by the facade.
 *
 * @param host      clock, threads and waits
 * @param node      this process start's incarnation and its lease
 * @param handlers  by name; null when nobody registered it
 * @param sequences parsed versions by (tenant, id)
 * @param recorder  hears of each first byte before it leaves and of each answer before anything else is done with it
 * @param slots     effect calls at once; taken before the intent commits and given back when the call ends
 * @param ids       random ids: transition ids, nonces
 * @param points    named points of the protocol where tests may stop or kill the process
 */
record Engine(
        Host host,
        NodeLease node,
        Store store,
        EngineOptions options,
        Function<String, @Nullable Handler> handlers,
        SequenceCache sequences,
        SecretSource secrets,
        Committer committer,
        LateTruth lateTruth,
        Ledger ledger,
        Recorder recorder,
        Semaphore slots,
        Supplier<UUID> ids,
        RandomGenerator random,
        Meter meter,
        CrashPoints points) {

    /**
     * A sequence and the ids its outputs are known by.
     *
     * @param invariants of the document, and those declared for the version afterwards
     */
    record Loaded(Sequence sequence, List<String> stepIds, List<Invariant> invariants, Sagas sagas) {}
}

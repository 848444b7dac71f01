package dev.waybill.engine;

import dev.waybill.definition.EvaluationException;
import dev.waybill.definition.Sequence;
import dev.waybill.engine.Calls.Call;
import dev.waybill.engine.Calls.Done;
import dev.waybill.engine.Decision.Ready;
import dev.waybill.engine.EffectGuard.Opened;
import dev.waybill.engine.EffectGuard.Resolved;
import dev.waybill.handler.EffectHandler;
import dev.waybill.handler.EffectHandler.Preparation;
import dev.waybill.handler.Handler;
import dev.waybill.handler.Handlers;
import dev.waybill.handler.PureHandler;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Problem;
import dev.waybill.store.BlockRow;
import dev.waybill.store.InvariantRows;
import dev.waybill.store.ReceiptRow;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * How a turn starts a step that may run: a built-in pure one at once; any other call, preparation or question beside the turn; an effect
 * by an intent, which the turn commits. Of the turn's own thread.
 */
final class StepStart {
    private final Engine engine;
    private final InstanceKey key;
    private final EffectGuard guard;
    private final Calls calls;
    private final Verifiers verifiers;
    private final Invariants invariants;
    private final Map<String, Call> inFlight;
    private final Holds holds;
    private final Consumer<Done> sink;
    /** Calls whose preparation needed I/O and is done. */
    private final Map<String, Preparation> prepared = new HashMap<>();
    /** Attempts whose question before the dispatch was answered "absent" just now; forgotten by a crash, and then asked again. */
    private final Map<String, Integer> absent = new HashMap<>();

    /**
     * @param inFlight the turn's; what is started beside it is put there by path
     * @param sink     told of the end of each call
     */
    StepStart(
            Engine engine, InstanceKey key, Calls calls, Verifiers verifiers, Invariants invariants, Holds holds, Map<String, Call> inFlight,
            Consumer<Done> sink) {
        this.engine = engine;
        this.key = key;
        this.guard = new EffectGuard(engine);
        this.calls = calls;
        this.verifiers = verifiers;
        this.invariants = invariants;
        this.inFlight = inFlight;
        this.holds = holds;
        this.sink = sink;
    }

    /** A preparation has ended. */
    void prepared(String path, Preparation preparation) {
        prepared.put(path, preparation);
    }

    /** The question before this attempt's dispatch was answered "absent". */
    void absent(Ready ready) {
        absent.put(ready.path(), ready.attempt());
    }

    /** An intent at this path is durable: what was learnt for it is used up. */
    void dispatched(String path) {
        prepared.remove(path);
        absent.remove(path);
    }

    /**
     * Starts what can be started.
     *
     * @param intents gets the effect that is ready to be committed; its call slot is taken
     * @return true when a decision was recorded in the draft that changes what comes next
     */
    boolean begin(Draft draft, Ready ready, List<Opened> intents) {
        Handler handler = engine.handlers().apply(ready.step().handler());
        try {
            return switch (handler) {
                case null -> refused(draft, ready, Problem.of(
                        "UNKNOWN_HANDLER", "no handler named " + ready.step().handler() + " is registered on this node"));
                case PureHandler pure -> pure(draft, ready, pure);
                case EffectHandler effect -> effect(draft, ready, effect, intents);
            };
        } catch (EvaluationException e) {
            return refused(draft, ready, e.problem());
        }
    }

    /** The step, or the resend, ends here with nothing sent. */
    boolean refused(Draft draft, Ready ready, Problem problem) {
        prepared.remove(ready.path());
        if (ready.resend()) {
            // The effect stays unknown, whatever hinders the resend: it must not become a failure that a catch could take.
            ObjectNode stopped = Problems.json(problem).put("after", ready.attempt() - 1);
            Long again = problem.retryable() ? (Long) EffectGuard.effect(ready.step()).resend().backoff().toMillis() : null;
            draft.row(ready.path() + Healing.RESEND, BlockRow.Kind.FRAME, stopped, again);
            return true;
        }
        draft.row(ready.path(), BlockRow.Kind.ERROR, Problems.json(problem), null);
        return true;
    }

    private boolean pure(Draft draft, Ready ready, PureHandler handler) throws EvaluationException {
        JsonNode params = ready.step().params().resolve(ready.scope());
        if (Handlers.isBuiltInPure(ready.step().handler())) {
            PureSettlement.ended(draft, ready, Calls.apply(ready, handler, params), engine.random());
            return true;
        }
        Duration timeout = ready.step().timeout() == null ? engine.options().stepTimeout() : ready.step().timeout();
        inFlight.put(ready.path(), calls.pure(ready, handler, params, timeout, sink));
        return false;
    }

    private boolean effect(Draft draft, Ready found, EffectHandler handler, List<Opened> intents) throws EvaluationException {
        Resolved plain = guard.resolve(found);
        boolean readOnly = handler.readOnly(plain.params());
        Ready ready = readOnly ? found : EffectGuard.atDestination(found, plain);
        Resolved resolved = plain;
        if (ready.copyOf() == null && plain.key() != null) {
            Sequence.Effect effect = EffectGuard.effect(ready.step());
            Problem keyFault = effect.keyFault(plain.key());
            if (keyFault != null) {
                return refused(draft, ready, keyFault);
            }
            resolved = new Resolved(plain.params(), effect.sentKey(plain.key()), plain.timeout());
        }
        Preparation preparation = prepared.get(ready.path());
        if (preparation == null) {
            if (!handler.preparesWithoutIo(resolved.params())) {
                inFlight.put(ready.path(), calls.prepare(ready, guard, handler, resolved, sink));
                return false;
            }
            preparation = guard.prepare(ready, handler, resolved);
        }
        return switch (preparation) {
            case Preparation.Refused(Problem problem) -> refused(draft, ready, problem);
            case Preparation.Ready(EffectHandler.EffectCall call) -> {
                if (!readOnly && asksBefore(ready)) {
                    Long held = holds.wait(numbered(ready)); // no question either while nothing could follow it
                    if (held != null) {
                        queued(draft, ready, held);
                        yield true;
                    }
                    prepared.put(ready.path(), preparation);
                    inFlight.put(ready.path(), calls.ask(ready, verifiers, verifiers.before(key, ready, resolved, guard), sink));
                    yield false;
                }
                if (readOnly) {
                    prepared.remove(ready.path());
                    inFlight.put(ready.path(), calls.read(ready, call, resolved.timeout(), sink));
                    yield false;
                }
                // The slot is taken before the commit, so that a dispatched receipt never waits for a thread (store.md, 3).
                if (engine.slots().tryAcquire()) {
                    Ready numbered = numbered(ready);
                    Long held = holds.wait(numbered);
                    if (held != null) {
                        engine.slots().release();
                        queued(draft, ready, held);
                        yield true;
                    }
                    ReceiptRow receipt;
                    List<InvariantRows.Guard> guards;
                    try {
                        receipt = guard.receipt(numbered, resolved, draft.transitionId);
                        guards = invariants.guards(numbered, receipt);
                    } catch (EvaluationException e) {
                        engine.slots().release();
                        throw e;
                    }
                    EffectGuard.keepProfile(draft, numbered);
                    intents.add(new Opened(numbered, receipt, call, resolved.timeout(), guards));
                    engine.points().reached(CrashPoints.Point.BEFORE_INTENT, key, ready.path());
                }
                yield false;
            }
        };
    }

    /** Its destination is held: nothing is sent and nothing fails, the step waits. */
    private void queued(Draft draft, Ready ready, long millis) {
        // Both grow old while the step waits.
        prepared.remove(ready.path());
        absent.remove(ready.path());
        Sequence.Effect effect = EffectGuard.effect(ready.step());
        String name = effect.profile() == null ? "" : effect.profile().name();
        ObjectNode body = JsonNodeFactory.instance.objectNode().put("destination", name).put("code", Holds.HELD);
        if (ready.resend()) {
            draft.row(ready.path() + Healing.RESEND, BlockRow.Kind.FRAME, body.put("after", ready.attempt() - 1), millis);
        } else {
            draft.row(ready.path() + Holds.PATH, BlockRow.Kind.FRAME, body.put("attempt", ready.attempt()), millis);
        }
    }

    /** A preparation that failed has used up an attempt of the step and made no receipt: those are numbered without gaps. */
    private static Ready numbered(Ready ready) {
        int attempt = ready.scope().state().attempts(ready.path()).size();
        return attempt == ready.attempt()
                ? ready
                : new Ready(ready.step(), ready.path(), ready.scope(), attempt, ready.copyOf(), ready.resend());
    }

    /** Read-Verify-Write: the provider is asked before every dispatch that is no resend, until it has said that there is nothing. */
    private boolean asksBefore(Ready ready) {
        Sequence.Verifier verifier = EffectGuard.effect(ready.step()).verify();
        return verifier != null && verifier.before() && !ready.resend() && !Integer.valueOf(ready.attempt()).equals(absent.get(ready.path()));
    }
}

package dev.waybill.engine;

import dev.waybill.engine.Decision.Ready;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.handler.Dispatch;
import dev.waybill.handler.EffectHandler;
import dev.waybill.handler.EffectHandler.EffectCall;
import dev.waybill.handler.EffectHandler.Preparation;
import dev.waybill.handler.PureHandler;
import dev.waybill.handler.StepFailure;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Proof;
import dev.waybill.store.ReceiptRow;
import dev.waybill.transport.HttpOutcome;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/**
 * Runs what a turn waits for, each on its own virtual thread: effect calls, read-only calls, preparations that need I/O, and pure
 * handlers that are not built in. No transaction, lock or connection is held here.
 */
final class Calls {
    private static final Logger LOG = LoggerFactory.getLogger(Calls.class);
    private static final long PAUSE_AFTER_FAULT_NANOS = Duration.ofSeconds(1).toNanos();
    private static final long CLOCK_JUMP_NANOS = Duration.ofSeconds(1).toNanos();

    private final Engine engine;
    private final InstanceKey instance;

    Calls(Engine engine, InstanceKey instance) {
        this.engine = engine;
        this.instance = instance;
    }

    /** What a call came to. */
    sealed interface Result {
        /** Of a dispatched effect. */
        record Answered(Outcome outcome) implements Result {}

        /** Of a read-only call. */
        record Read(Outcome outcome) implements Result {}

        record Prepared(Preparation preparation) implements Result {}

        record Pure(PureHandler.Result result) implements Result {}

        record PureFailed(Problem problem) implements Result {}

        /** Of a verifier's question; what it found is recorded already, so far as it could be. */
        record Asked(Verifiers.@Nullable Recorded recorded) implements Result {}
    }

    /** Something in flight. */
    static final class Call {
        final Ready ready;
        final @Nullable Attempt attempt;
        final long deadlineNanos;
        /** A verifier's: it has no outcome of its own when it is overdue. */
        final boolean question;
        private final AtomicBoolean ended = new AtomicBoolean();
        private final Object gate = new Object();
        private @Nullable Thread thread;
        /** Guarded by {@link #gate}: the thread is with the handler, the only place where an interrupt may reach it. */
        private boolean interruptible = true;
        /** The engine has stopped waiting; what the call still says is late truth. */
        volatile boolean abandoned;

        Call(Ready ready, @Nullable Attempt attempt, long deadlineNanos) {
            this(ready, attempt, deadlineNanos, false);
        }

        Call(Ready ready, @Nullable Attempt attempt, long deadlineNanos, boolean question) {
            this.question = question;
            this.ready = ready;
            this.attempt = attempt;
            this.deadlineNanos = deadlineNanos;
        }

        void interrupt() {
            synchronized (gate) {
                Thread running = thread;
                if (running != null && interruptible) {
                    running.interrupt();
                }
            }
        }

        /**
         * The handler has ended: nobody interrupts any more, and an interrupt that came before is forgotten. What follows stores the
         * answer, and an interrupted virtual thread would have its socket to the database closed under it, again and again.
         */
        private void shield() {
            synchronized (gate) {
                interruptible = false;
            }
            Thread.interrupted();
        }

        private void start(Host host, Runnable body) {
            Thread started = host.virtual("waybill-call-" + ready.path(), body);
            synchronized (gate) {
                thread = started;
            }
            started.start();
        }
    }

    /** The last look: late when the send deadline passed, or when the wall clock jumped away from the monotonic one (a suspended VM). */
    static BooleanSupplier lastLook(Host host, long handedOverNanos, Duration sendDeadline, java.time.InstantSource wall) {
        long wallMillis = wall.millis();
        return () -> {
            long monotonic = host.nanoTime() - handedOverNanos;
            long walled = (wall.millis() - wallMillis) * 1_000_000L;
            return monotonic > sendDeadline.toNanos() || Math.abs(walled - monotonic) > CLOCK_JUMP_NANOS;
        };
    }

    Call effect(Ready ready, Attempt attempt, EffectCall call, BooleanSupplier late, Duration timeout, Consumer<Done> sink) {
        Call running = new Call(ready, attempt, deadline(timeout));
        running.start(engine.host(), () -> {
            Outcome outcome;
            try {
                engine.points().reached(
                        ready.resend() ? CrashPoints.Point.AFTER_RESEND_INTENT : CrashPoints.Point.AFTER_INTENT, instance, ready.path());
                if (late.getAsBoolean()) {
                    outcome = notSent();
                } else {
                    outcome = send(ready, attempt.receipt, call, late);
                }
            } catch (InterruptedException e) {
                outcome = new Outcome.Unknown("interrupted", "the call was ended by its timeout or the drain", null);
            } catch (RuntimeException | Error e) {
                LOG.warn("the handler of {} at {} threw; its effect is unknown", instance, ready.path(), e);
                outcome = new Outcome.Unknown("handler_exception", e.getClass().getSimpleName() + ": " + e.getMessage(), null);
            } finally {
                running.shield();
                engine.slots().release();
            }
            engine.recorder().answered(attempt.receipt.id(), outcome);
            engine.points().reached(CrashPoints.Point.AFTER_ANSWER, instance, ready.path());
            end(running, new Result.Answered(outcome), sink);
        });
        return running;
    }

    private Outcome send(Ready ready, ReceiptRow receipt, EffectCall call, BooleanSupplier late) throws InterruptedException {
        UUID id = receipt.id();
        Runnable firstByte = () -> engine.recorder().firstByte(id);
        if (!(engine.handlers().apply(receipt.handler()) instanceof EffectHandler handler && handler.tellsFirstByte())) {
            try {
                firstByte.run();
            } catch (IllegalStateException e) {
                return new Outcome.NotApplied(
                        Proof.NOT_SENT, Problem.retryable(HttpOutcome.CALL_INTERRUPTED, "the engine was closed; nothing was sent"), null, null);
            }
            firstByte = () -> {};
        }
        return call.send(
                new Dispatch(id, instance, ready.path(), ready.attempt(), receipt.idempotencyKey(), ready.resend(), late, firstByte));
    }

    static Outcome notSent() {
        return new Outcome.NotApplied(
                Proof.NOT_SENT,
                Problem.retryable("SEND_DEADLINE_PASSED", "the send deadline passed before the first byte; nothing was sent"),
                null,
                null);
    }

    Call read(Ready ready, EffectCall call, Duration timeout, Consumer<Done> sink) {
        Call running = new Call(ready, null, deadline(timeout));
        running.start(engine.host(), () -> {
            Outcome outcome;
            try {
                outcome = call.send(new Dispatch(null, instance, ready.path(), ready.attempt(), null, false, () -> false));
            } catch (InterruptedException e) {
                outcome = new Outcome.Unknown("interrupted", "the call was ended by its timeout or the drain", null);
            } catch (RuntimeException | Error e) {
                outcome = new Outcome.Unknown("handler_exception", e.getClass().getSimpleName() + ": " + e.getMessage(), null);
            }
            end(running, new Result.Read(outcome), sink);
        });
        return running;
    }

    /** Asks a verifier and records its verdict; {@code ready}'s path is the question's, not the step's. */
    Call ask(Ready ready, Verifiers verifiers, Verifiers.Question question, Consumer<Done> sink) {
        Call running = new Call(ready, null, deadline(question.verifier().timeout()), true);
        running.start(engine.host(), () -> {
            Verifiers.Recorded recorded = null;
            try {
                Outcome answer = verifiers.answer(question);
                running.shield();
                recorded = verifiers.record(question, answer, Verifiers.ACTOR);
            } catch (InterruptedException e) {
                LOG.info("the question about {} of {} was ended by its timeout or the drain", question.path(), instance);
            } catch (RuntimeException | Error e) {
                running.shield();
                LOG.warn("what a verifier said about {} of {} could not be recorded; it is asked again", question.path(), instance, e);
                engine.host().pause(PAUSE_AFTER_FAULT_NANOS); // a database that is away must not make the provider pay
            }
            end(running, new Result.Asked(recorded), sink);
        });
        return running;
    }

    Call prepare(Ready ready, EffectGuard guard, EffectHandler handler, EffectGuard.Resolved resolved, Consumer<Done> sink) {
        Call running = new Call(ready, null, deadline(resolved.timeout()));
        running.start(engine.host(), () -> {
            Preparation preparation;
            try {
                preparation = guard.prepare(ready, handler, resolved);
            } catch (RuntimeException | Error e) {
                LOG.warn("the handler of {} at {} could not prepare", instance, ready.path(), e);
                preparation = new Preparation.Refused(Problem.of("PREPARE_FAILED", e.getClass().getSimpleName() + ": " + e.getMessage()));
            }
            end(running, new Result.Prepared(preparation), sink);
        });
        return running;
    }

    Call pure(Ready ready, PureHandler handler, JsonNode params, Duration timeout, Consumer<Done> sink) {
        Call running = new Call(ready, null, deadline(timeout));
        running.start(engine.host(), () -> end(running, apply(ready, handler, params), sink));
        return running;
    }

    /** Runs a pure handler here and now. */
    static Result apply(Ready ready, PureHandler handler, JsonNode params) {
        try {
            PureHandler.Result result =
                    handler.apply(new PureHandler.Call(params, ready.path(), ready.attempt(), ready.scope().state()::variable));
            return new Result.Pure(result);
        } catch (StepFailure e) {
            return new Result.PureFailed(e.problem());
        } catch (InterruptedException e) {
            return new Result.PureFailed(Problem.retryable("STEP_TIMEOUT", "the step at " + ready.path() + " was ended by its timeout"));
        } catch (Exception | StackOverflowError e) {
            return new Result.PureFailed(new Problem(
                    "HANDLER_FAILED", e.getClass().getSimpleName() + ": " + e.getMessage(), true, JsonNodeFactory.instance.objectNode()
                            .put("exception", e.getClass().getName())));
        }
    }

    private long deadline(Duration timeout) {
        return engine.host().nanoTime() + timeout.toNanos();
    }

    private static void end(Call call, Result result, Consumer<Done> sink) {
        call.shield();
        if (call.ended.compareAndSet(false, true)) {
            sink.accept(new Done(call, result));
        }
    }

    /** A call that has ended. */
    record Done(Call call, Result result) {}
}

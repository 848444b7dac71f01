package dev.waybill.engine;

import dev.waybill.definition.DestinationProfile;
import dev.waybill.definition.EvaluationException;
import dev.waybill.definition.Keys;
import dev.waybill.definition.Sequence.Effect;
import dev.waybill.definition.Sequence.Step;
import dev.waybill.definition.Value;
import dev.waybill.engine.Decision.Ready;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.handler.EffectHandler;
import dev.waybill.handler.EffectHandler.EffectCall;
import dev.waybill.handler.EffectHandler.Preparation;
import dev.waybill.handler.StepRequest;
import dev.waybill.json.Fingerprints;
import dev.waybill.model.EffectKind;
import dev.waybill.model.Problem;
import dev.waybill.model.ReceiptId;
import dev.waybill.store.BlockRow;
import dev.waybill.store.InvariantRows;
import dev.waybill.store.ReceiptRow;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Opens effects: resolves and validates everything that can be, freezes the request, and makes the receipt that must be durable before
 * a byte leaves (semantics.md section 4, 1 and 3). Nothing here sends.
 */
final class EffectGuard {
    private final Engine engine;

    EffectGuard(Engine engine) {
        this.engine = engine;
    }

    /**
     * A request whose params are resolved.
     *
     * @param timeout connect to last byte
     */
    record Resolved(JsonNode params, @Nullable String key, Duration timeout) {}

    /** A request that passed every check: what will be durable, and what will then be called. */
    record Opened(Ready ready, ReceiptRow receipt, EffectCall call, Duration timeout, List<InvariantRows.Guard> guards) {}

    /**
     * Resolves the params of a step, or copies the frozen request of the attempt before.
     *
     * @throws EvaluationException when they cannot be resolved: the step fails with nothing sent
     */
    Resolved resolve(Ready ready) throws EvaluationException {
        Step step = ready.step();
        ReceiptRow copy = ready.copyOf();
        if (copy != null) {
            JsonNode frozen = EngineJson.read(copy.request());
            if (!Fingerprints.isScrubbed(frozen)) {
                return new Resolved(frozen, copy.idempotencyKey(), timeout(step, frozen));
            }
        }
        JsonNode params = step.params().resolve(ready.scope());
        Effect effect = effect(step);
        String key = copy != null ? copy.idempotencyKey() : effect.key() == null ? null : Keys.resolve(effect.key(), ready.scope());
        if (copy != null && !Fingerprints.requestSha256(params).equals(copy.requestSha256())) {
            throw new EvaluationException(Problem.of(
                    "PARAMS_CHANGED",
                    "the request of " + ready.path() + " is not the one that attempt " + copy.attempt()
                            + " froze; an automatic attempt must repeat it"));
        }
        return new Resolved(params, key, timeout(step, params));
    }

    /**
     * The step with what is known of its destination: by the address it resolved to. An automatic attempt goes out as the one it copies:
     * under the profile that was in force then.
     */
    static Ready atDestination(Ready ready, Resolved resolved) {
        RunState state = ready.scope().state();
        if (state.sequence.destinations().profiles().isEmpty() && state.row(ready.path() + DESTINATION) == null) {
            return ready;
        }
        Step step = ready.copyOf() != null
                ? asDispatched(ready.step(), ready.path(), state)
                : ready.step().at(state.sequence.destinations()
                        .find(ready.step().handler(), Fingerprints.destination(ready.step().handler(), resolved.params()).text()));
        return step == ready.step() ? ready : new Ready(step, ready.path(), ready.scope(), ready.attempt(), ready.copyOf(), ready.resend());
    }

    /** A step whose effect has receipts, with the profile that was in force when the newest was dispatched. */
    static Step asDispatched(Step step, String path, RunState state) {
        BlockRow kept = state.row(path + DESTINATION);
        if (kept != null && !state.body(kept).isNull()) {
            return step.at(state.sequence.destinations().frozen(state.body(kept)));
        }
        Attempt last = state.lastAttempt(path);
        DestinationProfile profile = last == null ? null : state.sequence.destinations().find(step.handler(), last.receipt.destination());
        // One that the node has learnt since says nothing of what was sent before; a version's own was there.
        return profile == null || profile.ofNode() ? step : step.at(profile);
    }

    /**
     * Where a node's profile is kept as it stood at the dispatch, behind the path of its step: the node may know another one tomorrow,
     * and a resend must carry its key as the first request did. Rides with the intent; a version's own profiles are immutable anyway.
     */
    static final String DESTINATION = "$destination";

    static void keepProfile(Draft draft, Ready ready) {
        DestinationProfile profile = effect(ready.step()).profile();
        RunState state = ready.scope().state();
        BlockRow kept = state.row(ready.path() + DESTINATION);
        JsonNode now = profile == null || !profile.ofNode() ? JsonNodeFactory.instance.nullNode() : profile.document();
        if (kept == null ? !now.isNull() : !state.body(kept).equals(now)) {
            draft.row(ready.path() + DESTINATION, BlockRow.Kind.FRAME, now, null);
        }
    }

    /** Lets the handler check the request; may resolve names. */
    Preparation prepare(Ready ready, EffectHandler handler, Resolved resolved) {
        Effect effect = effect(ready.step());
        return handler.prepare(new StepRequest(
                resolved.params(),
                resolved.key(),
                resolved.key() == null ? null : effect.keyHeader(),
                effect.statusMap(),
                ready.scope().state().key.tenant(),
                engine.secrets(),
                resolved.timeout(),
                engine.options().maxReplyBytes()));
    }

    /** The receipt of this attempt, as it becomes durable with {@code transitionId}. */
    ReceiptRow receipt(Ready ready, Resolved resolved, UUID transitionId) throws EvaluationException {
        RunState state = ready.scope().state();
        Step step = ready.step();
        Effect effect = effect(step);
        UUID id = ReceiptId.of(state.execution, state.key.id(), ready.path(), ready.attempt());
        ReceiptRow copy = ready.copyOf();
        long quietInMillis =
                engine.options().sendDeadline().toMillis() + resolved.timeout().toMillis() + effect.settle().toMillis();
        Long window = effect.key() == null || effect.keyWindow() == null ? null : effect.keyWindow().toMillis();
        if (copy != null) {
            return new ReceiptRow(
                    id, state.execution, ready.path(), ready.attempt(), false, copy.kind(), copy.handler(), copy.destination(),
                    copy.destinationFingerprint(), copy.idempotencyKey(), copy.requestSha256(), copy.request(), state.claim,
                    engine.node().incarnation(), transitionId, quietInMillis, windowLeft(ready, window), ready.resend() ? copy.id() : null,
                    copy.labels(), null, null);
        }
        String handler = step.handler();
        JsonNode params = resolved.params();
        Fingerprints.Destination destination = Fingerprints.destination(handler, params);
        return new ReceiptRow(
                id, state.execution, ready.path(), ready.attempt(), false, EffectKind.ofHandler(handler), handler,
                destination.text(), destination.fingerprint(), resolved.key(), Fingerprints.requestSha256(params),
                EngineJson.write(Fingerprints.scrubForStorage(params)), state.claim,
                engine.node().incarnation(), transitionId, quietInMillis, window, null, labels(effect, ready), null, null);
    }

    /** The receipt of this attempt as it stands before a first dispatch; its transition is the mover's. */
    ReceiptRow prepared(Ready ready, Resolved resolved) throws EvaluationException {
        return receipt(ready, resolved, new UUID(0, 0)).asPrepared(new UUID(0, 0));
    }

    /** The destination counts from the first request it saw under the key, not from this one. */
    private static @Nullable Long windowLeft(Ready ready, @Nullable Long window) {
        ReceiptRow first = Healing.firstUnderKey(ready.scope().state().attempts(ready.path()));
        return window == null || first == null || first.keyWindowMillis() == null
                ? window
                : (Long) ready.scope().state().millisUntil(first.at(), first.keyWindowMillis());
    }

    private static @Nullable String labels(Effect effect, Ready ready) throws EvaluationException {
        if (effect.labels().isEmpty()) {
            return null;
        }
        ObjectNode labels = JsonNodeFactory.instance.objectNode();
        for (Map.Entry<String, Value> label : effect.labels().entrySet()) {
            labels.set(label.getKey(), label.getValue().resolve(ready.scope()));
        }
        return EngineJson.write(labels);
    }

    private Duration timeout(Step step, JsonNode params) {
        if (step.timeout() != null) {
            return step.timeout();
        }
        JsonNode millis = params.get("timeout_ms");
        return millis != null && millis.isIntegralNumber() && millis.canConvertToInt() && millis.asInt() > 0
                ? Duration.ofMillis(millis.asInt())
                : engine.options().stepTimeout();
    }

    static Effect effect(Step step) {
        return step.effect() == null ? Effect.DEFAULT : step.effect();
    }
}

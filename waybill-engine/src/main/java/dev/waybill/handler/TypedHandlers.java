package dev.waybill.handler;

import dev.waybill.json.Json;
import dev.waybill.json.Redactor;
import dev.waybill.json.SecretText;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Proof;
import dev.waybill.model.WaybillException;
import dev.waybill.transport.HttpOutcome;
import dev.waybill.transport.HttpOutput;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.cfg.MapperConfig;
import tools.jackson.databind.introspect.AnnotatedMember;
import tools.jackson.databind.introspect.JacksonAnnotationIntrospector;
import tools.jackson.databind.json.JsonMapper;

/** Binds records to the JSON of params and outputs. */
final class TypedHandlers {
    /** A misspelt or missing amount must fail before the receipt, not be zero at the provider. */
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .annotationIntrospector(new PrimitivesAreRequired())
            .build();

    private TypedHandlers() {}

    /** Jackson fills a primitive record component that is not in the JSON with zero. */
    private static final class PrimitivesAreRequired extends JacksonAnnotationIntrospector {
        private static final long serialVersionUID = 1L;

        @Override
        public @Nullable Boolean hasRequiredMarker(MapperConfig<?> config, AnnotatedMember member) {
            return member.getRawType().isPrimitive() ? Boolean.TRUE : super.hasRequiredMarker(config, member);
        }
    }

    static <I, O> EffectHandler effect(Class<I> in, EffectFunction<I, O> function) {
        return request -> {
            Redactor redactor = Redactor.forRequest(request.params(), request.tenant(), request.secrets());
            try {
                I input = bind(SecretText.reveal(request.params(), request.tenant(), request.secrets()), in, redactor);
                return new EffectHandler.Preparation.Ready(dispatch -> send(function, input, redactor, dispatch));
            } catch (StepFailure e) {
                return new EffectHandler.Preparation.Refused(e.problem());
            } catch (WaybillException e) {
                return new EffectHandler.Preparation.Refused(Problem.of(e.code(), String.valueOf(e.getMessage())));
            }
        };
    }

    static <I, O> PureHandler pure(Class<I> in, PureFunction<I, O> function) {
        return call -> PureHandler.Result.of(
                stored(tree(function.apply(bind(SecretText.masked(call.params()), in, Redactor.NONE)), Redactor.NONE)));
    }

    private static <I, O> Outcome send(EffectFunction<I, O> function, I input, Redactor redactor, Dispatch dispatch)
            throws InterruptedException {
        if (dispatch.late()) {
            String message = "the send deadline had passed before the handler began; nothing was done";
            return new Outcome.NotApplied(Proof.NOT_SENT, Problem.retryable(HttpOutcome.SEND_DEADLINE_PASSED, message), null, null);
        }
        EffectContext context = new EffectContext(
                dispatch.receiptId(),
                dispatch.idempotencyKey(),
                dispatch.attempt(),
                dispatch.instance(),
                dispatch.path(),
                dispatch.lateCheck());
        O result;
        try {
            result = function.apply(input, context);
        } catch (InterruptedException e) {
            throw e;
        } catch (EffectRefusedException e) {
            Problem said = e.problem();
            Problem problem = new Problem(said.code(), redactor.redact(said.message()), said.retryable(), said.details());
            return new Outcome.NotApplied(e.proof(), problem, null, null);
        } catch (Throwable e) {
            // Throwable: an Error after the request has left is as unknown as any exception.
            return new Outcome.Unknown("handler_exception", redactor.redact(e.getClass().getName() + ": " + e.getMessage()), null);
        }
        try {
            JsonNode output = stored(tree(result, redactor));
            return new Outcome.Committed(output, HttpOutput.receiptId(output), null);
        } catch (StepFailure e) {
            return new Outcome.OutputUnusable(e.problem(), null, null);
        }
    }

    private static <I> I bind(JsonNode params, Class<I> type, Redactor redactor) throws StepFailure {
        try {
            I bound = MAPPER.treeToValue(params, type);
            if (bound == null) throw new StepFailure(HttpHeaders.invalid("params must not be null"));
            return bound;
        } catch (JacksonException e) {
            String why = redactor.redact(String.valueOf(e.getOriginalMessage()));
            throw new StepFailure(HttpHeaders.invalid("params do not fit " + type.getSimpleName() + ": " + why));
        }
    }

    private static JsonNode tree(@Nullable Object value, Redactor redactor) throws StepFailure {
        try {
            return value == null ? Json.NODES.nullNode() : HttpOutput.redacted(MAPPER.valueToTree(value), redactor);
        } catch (JacksonException e) {
            throw new StepFailure(unstorable(String.valueOf(e.getOriginalMessage())));
        }
    }

    /** What was returned is held to the same rules as what comes from outside: depth, numbers, Unicode. */
    private static JsonNode stored(JsonNode output) throws StepFailure {
        try {
            return Json.parse(Json.write(output));
        } catch (WaybillException | JacksonException e) {
            throw new StepFailure(unstorable(String.valueOf(e.getMessage())));
        }
    }

    private static Problem unstorable(String why) {
        return Problem.of(HttpOutput.OUTPUT_UNSTORABLE, "what the handler returned cannot be kept as JSON: " + why);
    }
}

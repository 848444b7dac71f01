package dev.waybill.handler;

import dev.waybill.definition.Durations;
import dev.waybill.json.Json;
import dev.waybill.json.SecretText;
import dev.waybill.model.Problem;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The built-in handlers that touch nothing outside (language.md). They see secrets as masks, so that no output can carry one.
 *
 * <pre>
 * noop                            output {}
 * log {message, level}            writes one line to the logger dev.waybill.steps; level trace debug info warn error
 * sleep {duration}                integer milliseconds, or text with a unit (500ms, 30s, 5m, 2h, 1d, PT30S)
 * fail {message, code, retryable} fails the step
 * transform                       output = params
 * assert {condition, message}     fails with ASSERTION_FAILED unless condition is true
 * set_state {key, value}          output {key, value}
 * get_state {key, default}        output {key, value}
 * delete_state {key}              output {key}
 * merge_state {key, value}        lays the members of an object over the object stored at key; output {key, value}
 * </pre>
 */
final class BuiltIns {
    private static final Logger STEPS = LoggerFactory.getLogger("dev.waybill.steps");

    static final Map<String, PureHandler> ALL = Map.of(
            "noop", call -> PureHandler.Result.of(Json.NODES.objectNode()),
            "log", masked((params, call) -> log(params, call.path())),
            "sleep", masked((params, call) -> sleep(params)),
            "fail", masked((params, call) -> fail(params)),
            "transform", masked((params, call) -> PureHandler.Result.of(params)),
            "assert", masked((params, call) -> check(params)),
            "set_state", masked((params, call) -> write(key(params), params.path("value"))),
            "get_state", masked(BuiltIns::getState),
            "delete_state", masked((params, call) -> delete(key(params))),
            "merge_state", masked(BuiltIns::mergeState));

    private BuiltIns() {}

    private interface Body {
        PureHandler.Result apply(JsonNode params, PureHandler.Call call) throws StepFailure;
    }

    private static PureHandler masked(Body body) {
        return call -> body.apply(SecretText.masked(call.params()), call);
    }

    private static PureHandler.Result log(JsonNode params, String path) throws StepFailure {
        String level = params.path("level").isString() ? params.path("level").stringValue() : "info";
        JsonNode message = params.path("message");
        String text = message.isString() ? message.stringValue() : Json.write(message.isMissingNode() ? params : message);
        try {
            STEPS.atLevel(Level.valueOf(level.toUpperCase(Locale.ROOT))).log("{}: {}", path, text);
        } catch (IllegalArgumentException e) {
            throw invalid("level must be trace, debug, info, warn or error");
        }
        ObjectNode output = Json.NODES.objectNode();
        return PureHandler.Result.of(output.put("message", text).put("level", level));
    }

    private static PureHandler.Result sleep(JsonNode params) throws StepFailure {
        Duration duration = Durations.of(params.has("duration") ? params.path("duration") : params.path("duration_ms"))
                .orElseThrow(() -> invalid("duration must be milliseconds or text with a unit (500ms, 30s, 5m, 2h, 1d, PT30S)"));
        return new PureHandler.Result(Json.NODES.objectNode().put("slept_ms", duration.toMillis()), Map.of(), duration);
    }

    private static PureHandler.Result fail(JsonNode params) throws StepFailure {
        String code = params.path("code").isString() ? params.path("code").stringValue() : "STEP_FAILED";
        String message = params.path("message").isString() ? params.path("message").stringValue() : "the step was told to fail";
        boolean retryable = params.path("retryable").isBoolean() && params.path("retryable").booleanValue();
        JsonNode details = params.get("details");
        throw new StepFailure(new Problem(code, message, retryable, details));
    }

    private static PureHandler.Result check(JsonNode params) throws StepFailure {
        JsonNode condition = params.has("condition") ? params.path("condition") : params.path("value");
        // Only true is true: a condition that became text or a number is a mistake, and a mistake must not pass.
        if (condition.isBoolean() && condition.booleanValue()) return PureHandler.Result.of(Json.NODES.objectNode().put("passed", true));
        String message = params.path("message").isString() ? params.path("message").stringValue() : "the condition is not true";
        throw new StepFailure(Problem.of("ASSERTION_FAILED", message));
    }

    private static PureHandler.Result getState(JsonNode params, PureHandler.Call call) throws StepFailure {
        String key = key(params);
        JsonNode stored = call.state().apply(key);
        JsonNode value = stored == null || stored.isNull() ? params.path("default") : stored;
        return PureHandler.Result.of(pair(key, value));
    }

    private static PureHandler.Result mergeState(JsonNode params, PureHandler.Call call) throws StepFailure {
        String key = key(params);
        JsonNode stored = call.state().apply(key);
        JsonNode over = params.path("value");
        boolean empty = stored == null || stored.isNull();
        if (!over.isObject() || !(empty || stored instanceof ObjectNode)) throw invalid("merge_state needs an object over an object");
        ObjectNode merged = Json.NODES.objectNode();
        if (stored instanceof ObjectNode object) merged.setAll(object);
        over.properties().forEach(member -> merged.set(member.getKey(), member.getValue()));
        return write(key, merged);
    }

    private static PureHandler.Result write(String key, JsonNode value) {
        JsonNode stored = value.isMissingNode() ? Json.NODES.nullNode() : value;
        return new PureHandler.Result(pair(key, stored), writes(key, stored), null);
    }

    /** JSON null is what get_state takes for "never set". */
    private static PureHandler.Result delete(String key) {
        return new PureHandler.Result(Json.NODES.objectNode().put("key", key), writes(key, Json.NODES.nullNode()), null);
    }

    private static Map<String, JsonNode> writes(String key, JsonNode value) {
        Map<String, JsonNode> writes = new LinkedHashMap<>();
        writes.put(key, value);
        return writes;
    }

    private static ObjectNode pair(String key, JsonNode value) {
        ObjectNode pair = Json.NODES.objectNode().put("key", key);
        return pair.set("value", value.isMissingNode() ? Json.NODES.nullNode() : value);
    }

    private static String key(JsonNode params) throws StepFailure {
        JsonNode key = params.path("key");
        if (!key.isString() || key.stringValue().isBlank()) throw invalid("key must be a non-empty string");
        return key.stringValue();
    }

    private static StepFailure invalid(String message) {
        return new StepFailure(HttpHeaders.invalid(message));
    }
}

package dev.waybill.lab.program;

import dev.waybill.lab.program.Expected.Error;
import dev.waybill.lab.program.Interpreter.Ends;
import dev.waybill.lab.program.Interpreter.NotComputable;
import dev.waybill.lab.program.Interpreter.Place;
import dev.waybill.lab.program.Interpreter.Status;
import dev.waybill.lab.program.Script.Decision;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** What must come of one step. */
final class StepRun {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    /** A failure before the retry policy has looked at it. */
    private record Trouble(String code, boolean retryable, @Nullable ObjectNode details) {
        ObjectNode json() {
            ObjectNode json = NODES.objectNode().put("code", code).put("retryable", retryable);
            if (details != null) {
                json.set("details", details);
            }
            return json;
        }
    }

    private final Interpreter interpreter;
    private final Script script;
    private final JsonNode onUnknown;

    StepRun(Interpreter interpreter, Script script, JsonNode onUnknown) {
        this.interpreter = interpreter;
        this.script = script;
        this.onUnknown = onUnknown;
    }

    Status run(JsonNode step, Place place, String path, Ends before) throws NotComputable {
        Function<String, @Nullable JsonNode> scope = name -> interpreter.root(name, place, path, 0);
        try {
            if (step.has("when") && !Formula.condition(step.path("when"), scope)) {
                interpreter.output(path, NODES.nullNode());
                return new Status.Done(before);
            }
            if (step.has("delay")) {
                Formula.value(step.path("delay"), scope);
            }
        } catch (Formula.Failure e) {
            return Interpreter.failed(path, e.code, before);
        }
        String handler = step.path("handler").asString();
        if (!step.path("params").has("url")) {
            return pure(step, handler, place, path, before);
        }
        return step.path("params").path("read").asBoolean(false) ? read(step, scope, path, before) : effect(step, scope, path, before);
    }

    // --- without a receipt -----------------------------------------------------------------------------------------------------

    private Status pure(JsonNode step, String handler, Place place, String path, Ends before) {
        for (int attempt = 0; ; attempt++) {
            int number = attempt;
            Function<String, @Nullable JsonNode> scope = name -> interpreter.root(name, place, path, number);
            Trouble trouble;
            try {
                JsonNode params = Formula.value(step.path("params"), scope);
                switch (handler) {
                    case "fail" -> trouble = new Trouble(
                            params.path("code").asString("STEP_FAILED"), params.path("retryable").asBoolean(false), (ObjectNode) params.get("details"));
                    case "assert" -> {
                        if (params.path("condition").isBoolean() && params.path("condition").asBoolean()) {
                            return done(step, path, NODES.objectNode().put("passed", true), before);
                        }
                        trouble = new Trouble("ASSERTION_FAILED", false, null);
                    }
                    default -> {
                        return done(step, path, output(handler, params), before);
                    }
                }
                if (attempt + 1 >= attempts(step) || !wanted(step, trouble, scope)) {
                    return Interpreter.failed(path, trouble.code, before);
                }
            } catch (Formula.Failure e) {
                return Interpreter.failed(path, e.code, before);
            }
        }
    }

    private JsonNode output(String handler, JsonNode params) {
        String key = params.path("key").asString("");
        JsonNode stored = interpreter.variables.get(key);
        return switch (handler) {
            case "noop" -> NODES.objectNode();
            case "log" -> NODES.objectNode().put("message", params.path("message").asString()).put("level", params.path("level").asString("info"));
            case "sleep" -> NODES.objectNode().put("slept_ms", params.path("duration").asInt());
            case "transform" -> params;
            case "get_state" -> pair(key, stored == null || stored.isNull() ? params.path("default") : stored);
            case "delete_state" -> {
                interpreter.variables.put(key, NODES.nullNode());
                yield NODES.objectNode().put("key", key);
            }
            case "set_state" -> {
                interpreter.variables.put(key, params.path("value"));
                yield pair(key, params.path("value"));
            }
            case "merge_state" -> {
                ObjectNode merged = NODES.objectNode();
                if (stored instanceof ObjectNode object) {
                    merged.setAll(object);
                }
                params.path("value").properties().forEach(member -> merged.set(member.getKey(), member.getValue()));
                interpreter.variables.put(key, merged);
                yield pair(key, merged);
            }
            default -> throw new IllegalStateException("no handler " + handler);
        };
    }

    private static ObjectNode pair(String key, JsonNode value) {
        return NODES.objectNode().put("key", key).set("value", value.isMissingNode() ? NODES.nullNode() : value);
    }

    private Status done(JsonNode step, String path, JsonNode output, Ends before) {
        if (!fits(output, step.path("output_schema"))) {
            return Interpreter.failed(path, "OUTPUT_INVALID", before);
        }
        interpreter.output(path, output);
        return new Status.Done(before);
    }

    /** The part of JSON Schema that the generator writes: {@code type} and {@code properties}. */
    private static boolean fits(JsonNode value, JsonNode schema) {
        boolean typed =
                switch (schema.path("type").asString("any")) {
                    case "integer" -> value.isIntegralNumber();
                    case "object" -> value.isObject();
                    case "string" -> value.isString();
                    default -> true;
                };
        return typed
                && schema.path("properties").properties().stream()
                        .allMatch(member -> !value.has(member.getKey()) || fits(value.path(member.getKey()), member.getValue()));
    }

    // --- with a receipt, or a declared read ------------------------------------------------------------------------------------

    private Status read(JsonNode step, Function<String, @Nullable JsonNode> scope, String path, Ends before) {
        for (int request = 0; ; request++) {
            Reaction reaction = script.reaction(path, request);
            interpreter.meet("read " + reaction);
            if (reaction == Reaction.OK) {
                return done(step, path, answer(path, reaction), before);
            }
            Trouble trouble = reaction == Reaction.LOST ? new Trouble("READ_FAILED", true, null) : trouble(path, reaction);
            if (request + 1 >= attempts(step) || !wanted(step, trouble, scope)) {
                return Interpreter.failed(path, trouble.code, before);
            }
        }
    }

    private Status effect(JsonNode step, Function<String, @Nullable JsonNode> scope, String path, Ends before) throws NotComputable {
        String key;
        try {
            Formula.value(step.path("params").path("body"), scope);
            JsonNode written = step.path("effect").path("idempotency").path("key");
            key = written.isMissingNode() ? null : Formula.key(written, scope);
        } catch (Formula.Failure e) {
            return Interpreter.failed(path, e.code, before);
        }
        List<String> states = new ArrayList<>();
        Ends after = new Ends(Set.of(path), Set.of());
        // Attempts since a person last decided on one.
        int used = 0;
        for (int request = 0; ; request++) {
            Reaction reaction = script.reaction(path, request);
            interpreter.meet(reaction.name());
            used++;
            boolean judged = step.has("success_when");
            if (reaction.unknown() || reaction == Reaction.BODY_CUT && judged) {
                if (mayFail(step)) {
                    interpreter.meet("on_unknown fail");
                    interpreter.effect(path, null, with(states, "unknown"), reaction.books() ? 1 : 0, key, before);
                    return new Status.Stopped(List.of(new Error("EFFECT_BLOCKED", path)));
                }
                Decision decision = reaction == Reaction.BODY_CUT ? Decision.COMMIT : reaction.decision();
                switch (decision) {
                    case RESEND -> {
                        states.add("abandoned");
                        used = 0;
                        continue;
                    }
                    case COMMIT, VERIFY -> {
                        interpreter.effect(path, script.output(path), with(states, decision == Decision.COMMIT ? "committed" : "verified"), 1, key, before);
                        return new Status.Done(after);
                    }
                    case FAIL -> {
                        interpreter.effect(path, null, with(states, "abandoned"), 0, key, before);
                        return Interpreter.failed(path, "EFFECT_ABANDONED", after);
                    }
                    default -> {
                        interpreter.effect(path, null, with(states, "unknown"), reaction.books() ? 1 : 0, key, before);
                        interpreter.waitsFor("effect_unknown", path);
                        return new Status.Waiting();
                    }
                }
            }
            switch (reaction) {
                case OK, BAD_OUTPUT -> {
                    boolean usable = fits(answer(path, reaction), step.path("output_schema"));
                    interpreter.effect(path, usable ? answer(path, reaction) : null, with(states, "committed"), 1, key, before);
                    return usable ? new Status.Done(after) : Interpreter.failed(path, "OUTPUT_INVALID", after);
                }
                case BODY_CUT -> {
                    interpreter.effect(path, script.output(path), with(states, "committed"), 1, key, before);
                    return new Status.Done(after);
                }
                default -> states.add("not_applied");
            }
            Trouble trouble = reaction == Reaction.REFUSED_IN_BODY ? new Trouble("SUCCESS_WHEN_FALSE", false, null) : trouble(path, reaction);
            if (used < attempts(step) && wanted(step, trouble, scope)) {
                continue;
            }
            int status = script.status(path, reaction);
            boolean complete = step.path("client_error_mode").asString(step.path("clientErrorMode").asString("")).equals("complete");
            if (complete && status >= 400 && status < 500) {
                interpreter.meet("complete " + reaction);
                interpreter.effect(path, answer(path, reaction), states, 0, key, before);
                return new Status.Done(after);
            }
            interpreter.effect(path, null, states, 0, key, before);
            return Interpreter.failed(path, trouble.code, after);
        }
    }

    private static List<String> with(List<String> states, String last) {
        states.add(last);
        return states;
    }

    private ObjectNode answer(String path, Reaction reaction) {
        ObjectNode output = NODES.objectNode().put("status", script.status(path, reaction));
        output.putObject("headers");
        return output.set("body", script.body(path, reaction));
    }

    private Trouble trouble(String path, Reaction reaction) {
        if (reaction == Reaction.NOT_SENT) {
            return new Trouble("DESTINATION_UNREACHABLE", true, null);
        }
        ObjectNode details = NODES.objectNode().put("status", script.status(path, reaction));
        JsonNode body = script.body(path, reaction);
        details.set("body", body);
        details.set("error_code", body.path("code"));
        return reaction == Reaction.DECLINED
                ? new Trouble("HTTP_REJECTED", false, details)
                : new Trouble("HTTP_RETRY_LATER", true, details);
    }

    private boolean mayFail(JsonNode step) {
        JsonNode policy = step.has("on_unknown") ? step.path("on_unknown") : onUnknown;
        return policy.asString("").equals("fail") || policy.valueStream().anyMatch(entry -> entry.asString("").equals("fail"));
    }

    // --- retry -----------------------------------------------------------------------------------------------------------------

    private static int attempts(JsonNode step) {
        return step.has("retry") ? step.path("retry").path("max_attempts").asInt(3) : 1;
    }

    private static boolean wanted(JsonNode step, Trouble trouble, Function<String, @Nullable JsonNode> scope) {
        JsonNode retry = step.path("retry");
        if (!trouble.retryable) {
            return false;
        }
        for (JsonNode listed : retry.path("non_retryable_codes")) {
            String code = listed.asString();
            boolean details = trouble.details != null
                    && List.of("error_code", "code", "status").stream().anyMatch(name -> trouble.details.path(name).asString("").equals(code));
            if (code.equals(trouble.code) || details) {
                return false;
            }
        }
        if (!retry.has("retry_if")) {
            return true;
        }
        ObjectNode error = trouble.json();
        try {
            return Formula.condition(retry.path("retry_if"), name -> name.equals("_error") ? error : scope.apply(name));
        } catch (Formula.Failure e) {
            return false;
        }
    }
}

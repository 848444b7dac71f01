package dev.waybill.definition;

import dev.waybill.definition.Destinations.Lookup;
import dev.waybill.definition.Sequence.Effect;
import dev.waybill.definition.Sequence.Remedy;
import dev.waybill.definition.Sequence.Retry;
import dev.waybill.definition.Sequence.Step;
import dev.waybill.definition.Values.Compiled;
import dev.waybill.json.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Reads a step and what its author knows of its effect. */
final class StepReader {
    /** The lease of a node (semantics.md section 2): a longer call is taken over while it runs, and its answer arrives late. */
    static final Duration LEASE = Duration.ofSeconds(15);

    static final int MAX_ATTEMPTS = 1_000;
    private static final int DEFAULT_ATTEMPTS = 3;
    private static final Duration DEFAULT_BACKOFF = Duration.ofSeconds(1);
    private static final Duration DEFAULT_MAX_BACKOFF = Duration.ofMinutes(1);
    private static final Set<String> PURE = Set.of("noop", "log", "sleep", "fail", "transform", "assert", "set_state", "get_state",
            "delete_state", "merge_state", "query_instance", "memory_search", "blob_get", "wait_for_event", "human_review");
    private static final Set<String> BUILT_IN_EFFECTS = Set.of("http_request", "llm_call", "tool_call", "mcp_call", "agent", "emit_event", "send_signal",
            "self_modify", "memory_store", "memory_delete", "blob_put", "embed");
    private final Faults faults;
    private final Lint lint;
    private final List<Remedy> sequenceOnUnknown;
    private final Predicate<String> handlerKnown;
    final ValueReader values;
    private final HttpRequestReader http;
    private final EffectReader effects;
    private final Destinations destinations;
    private final Set<DestinationProfile> used;
    /** What is read belongs to a compensation: its steps have the key of what they undo, unless they declare one. */
    boolean undoing;

    /**
     * @param used      gets every profile that holds for a step, or may
     * @param onUnknown the sequence's
     */
    StepReader(Faults faults, Predicate<String> handlerKnown, Destinations destinations, Set<DestinationProfile> used, List<Remedy> onUnknown) {
        this.lint = new Lint(faults);
        this.sequenceOnUnknown = onUnknown;
        this.faults = faults;
        this.destinations = destinations;
        this.used = used;
        this.handlerKnown = handlerKnown;
        this.values = new ValueReader(faults);
        this.http = new HttpRequestReader(faults, values);
        this.effects = new EffectReader(faults, values, http, handlerKnown);
    }

    Step step(Fields fields, String id, Set<String> variables) {
        String handler = fields.require("handler", node -> node.isString() && !node.stringValue().isBlank(), "the name of a handler", Json.NODES.stringNode(""))
                .stringValue();
        if (!handler.isEmpty() && !handlerKnown.test(handler)) {
            fields.fault("UNKNOWN_HANDLER", "handler", "no handler is named " + handler);
        }
        JsonNode params = fields.get("params");
        Lookup known = destinations.lookup(handler, params == null ? null : params.get("url"), used);
        Effect own = effects.read(fields, variables, known);
        if (undoing && (own == null || own.key() == null) && !PURE.contains(handler) && !HttpRequestReader.carriesKey(params)
                && (params == null || !params.path("read").asBoolean(false))) {
            own = (own == null ? Effect.DEFAULT : own).keyedBy(UndoKey.INSTANCE);
        }
        Effect effect = known.profile() == null ? own : (own == null ? Effect.DEFAULT : own).at(known.profile());
        // A header that only the node's profile names is checked when the step runs: the profile may change, the version does not.
        Effect written = known.profile() != null && known.profile().ofNode() ? own : effect;
        Compiled compiled;
        boolean keyHeader = false;
        boolean reads = false;
        if (handler.equals("http_request")) {
            HttpRequestReader.Request request = http.read(params, params == null ? fields.pointer : fields.at("params"), written, variables);
            compiled = request.params();
            keyHeader = request.keyHeader();
            reads = request.reads();
        } else {
            compiled = params == null ? new Values.Constant(Json.NODES.objectNode()) : values.value(params, fields.at("params"), variables);
        }
        boolean effectful = !PURE.contains(handler) && !reads;
        Guarantee guarantee = Guarantee.of(effectful, effect);
        faults.guarantee(id, guarantee);
        Duration timeout = fields.duration("timeout");
        if (timeout != null && timeout.compareTo(LEASE) > 0 && effectful) {
            faults.warn("TIMEOUT_OVER_LEASE", fields.at("timeout"), "the timeout is longer than the lease of " + LEASE.toSeconds() + " s");
        }
        if (timeout != null && timeout.isZero()) {
            fields.fault("INVALID_DURATION", "timeout", "timeout must be longer than nothing");
        }
        Value delay = delay(fields, variables);
        Retry retry = retry(fields);
        Expression when = values.condition(fields, "when", false);
        List<Remedy> onUnknown = OnUnknownReader.read(fields, faults);
        if (onUnknown != null) {
            OnUnknownReader.check(onUnknown, effect, known.open(), fields, faults);
        }
        boolean complete = clientErrorComplete(fields);
        Expression successWhen = values.condition(fields, "success_when", false);
        JsonNode outputSchema = SequenceParser.schema(fields, "output_schema");
        if (!fields.flag("cancellable", true)) {
            fields.fault("UNSUPPORTED", "cancellable", "cancellable: false is not supported yet");
        }
        fields.unsupported("rate_limit_key", "send_window", "context_access", "wait_for_input", "queue_name", "deadline", "on_deadline_breach",
                "fallback_handler", "cache_key", "compensation");
        Step step = new Step(id, handler, compiled, delay, retry, timeout, when, own, onUnknown, complete, successWhen, outputSchema, guarantee);
        if (effectful && !handler.isEmpty()) {
            lint.effect(fields, step, effect, known, keyHeader, BUILT_IN_EFFECTS.contains(handler), sequenceOnUnknown);
        }
        lint.ids(params, fields.at("params"));
        return step;
    }

    /** {@code {duration: ..}}, or the duration itself; resolves to integer milliseconds unless it is a template or an expression. */
    private @Nullable Value delay(Fields fields, Set<String> variables) {
        JsonNode delay = fields.get("delay");
        if (delay == null) {
            return null;
        }
        if (!delay.isObject()) {
            return delayValue(fields, "delay", delay, variables);
        }
        Fields inner = new Fields(delay, fields.at("delay"), faults);
        JsonNode duration = inner.require("duration", node -> node.isString() || node.isIntegralNumber(), "a duration", Json.NODES.missingNode());
        inner.unsupported("business_days_only", "jitter", "holidays", "fire_at_local", "timezone");
        inner.done();
        return duration.isMissingNode() ? null : delayValue(inner, "duration", duration, variables);
    }

    private @Nullable Value delayValue(Fields fields, String name, JsonNode node, Set<String> variables) {
        Compiled value = values.value(node, fields.at(name), variables);
        if (value instanceof Values.Constant) {
            Duration duration = fields.duration(name);
            return duration == null ? null : new Values.Constant(Json.integer(duration.toMillis()));
        }
        return value;
    }

    private Retry retry(Fields fields) {
        JsonNode node = fields.optional("retry", JsonNode::isObject, "an object");
        if (node == null) {
            return Retry.NONE;
        }
        Fields retry = new Fields(node, fields.at("retry"), faults);
        Duration initial = retry.duration("initial_backoff");
        Duration max = retry.duration("max_backoff");
        JsonNode jitter = retry.get("jitter");
        List<String> codes = new ArrayList<>();
        JsonNode list = retry.optional("non_retryable_codes", JsonNode::isArray, "a list of codes");
        if (list != null) {
            list.forEach(code -> codes.add(code.asString("")));
        }
        Duration first = initial == null ? DEFAULT_BACKOFF : initial;
        Retry result = new Retry(
                retry.integer("max_attempts", 1, MAX_ATTEMPTS, DEFAULT_ATTEMPTS),
                first,
                max != null ? max : first.compareTo(DEFAULT_MAX_BACKOFF) > 0 ? first : DEFAULT_MAX_BACKOFF,
                retry.number("backoff_multiplier", 1, 100, 2.0),
                jitter != null && jitter.isBoolean() ? jitter.booleanValue() ? 1 : 0 : retry.number("jitter", 0, 1, 0),
                values.condition(retry, "retry_if", false),
                List.copyOf(codes));
        retry.done();
        return result;
    }

    /** Seed 004 writes {@code clientErrorMode}. */
    private static boolean clientErrorComplete(Fields fields) {
        boolean complete = false;
        for (String name : List.of("client_error_mode", "clientErrorMode")) {
            JsonNode mode = fields.optional(
                    name, node -> node.asString("").equals("complete") || node.asString("").equals("fail"), "complete or fail");
            complete |= mode != null && mode.stringValue().equals("complete");
        }
        if (fields.has("client_error_mode") && fields.has("clientErrorMode")) {
            fields.fault("INVALID_VALUE", "clientErrorMode", "client_error_mode is given twice");
        }
        return complete;
    }
}

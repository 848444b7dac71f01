package dev.waybill.definition;

import dev.waybill.definition.Destinations.Lookup;
import dev.waybill.definition.Sequence.Effect;
import dev.waybill.definition.Sequence.OnConflict;
import dev.waybill.definition.Sequence.Resend;
import dev.waybill.definition.Sequence.Verifier;
import dev.waybill.definition.Values.Compiled;
import dev.waybill.json.Json;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Reads what the author of a step knows of its effect: key contract, verifier, statuses, labels (language.md). */
final class EffectReader {
    private static final List<String> STATUS_OUTCOMES = List.of("committed", "not_applied", "rejected", "unknown");
    private static final List<String> CONFLICTS = List.of("verify", "applied", "rejected", "retry");
    private static final List<String> REPEATS = List.of("refused", "accepted");
    private static final int MAX_NEGATIVE_READS = 100;
    private static final Set<String> READS = Set.of("GET", "HEAD");
    /** What a verifier's params see beside the step's own roots. */
    private static final Set<String> VERIFIER_ROOTS = Set.of("key", "request", "receipt", "labels");

    private final Faults faults;
    private final ValueReader values;
    private final HttpRequestReader http;
    private final Predicate<String> handlerKnown;

    EffectReader(Faults faults, ValueReader values, HttpRequestReader http, Predicate<String> handlerKnown) {
        this.faults = faults;
        this.values = values;
        this.http = http;
        this.handlerKnown = handlerKnown;
    }

    /** @param known what destination profiles say of the step */
    @Nullable Effect read(Fields fields, Set<String> variables, Lookup known) {
        JsonNode node = fields.optional("effect", JsonNode::isObject, "an object");
        if (node == null) {
            return null;
        }
        Fields effect = new Fields(node, fields.at("effect"), faults);
        Compiled key = null;
        String header = Effect.DEFAULT.keyHeader();
        Duration window = null;
        Set<Integer> replayed = Effect.DEFAULT_REPLAYED;
        Set<String> own = new HashSet<>();
        JsonNode contract = effect.optional("idempotency", JsonNode::isObject, "an object {key, header, window, replayed}");
        if (contract != null) {
            Fields idempotency = new Fields(contract, effect.at("idempotency"), faults);
            JsonNode written = idempotency.require("key", value -> true, "a value", Json.NODES.missingNode());
            key = written.isMissingNode() ? null : values.key(written, idempotency.at("key"), variables);
            String name = idempotency.text("header");
            if (name != null) {
                header = name;
                own.add("header");
                http.checkName(name, idempotency.at("header"));
            }
            if (idempotency.has("replayed")) {
                own.add("replayed");
            }
            window = idempotency.duration("window");
            replayed = replayed(idempotency);
            idempotency.done();
        }
        Duration settle = effect.duration("settle");
        Verifier verify = null;
        JsonNode question = effect.optional("verify", JsonNode::isObject, "an object {params, landed, absent, ..}");
        if (question != null) {
            Fields asked = new Fields(question, effect.at("verify"), faults);
            Duration quiet = asked.duration("settle");
            if (quiet != null && settle != null && !quiet.equals(settle)) {
                asked.fault("INVALID_VALUE", "settle", "settle is given twice: here and in effect");
            }
            settle = quiet == null ? settle : quiet;
            verify = verifier(asked, variables);
        }
        if (settle != null) {
            own.add("settle");
        }
        if (effect.has("resend")) {
            own.add("resend");
        }
        DestinationProfile profile = known.profile();
        boolean windowKnown = window != null || known.open() || profile != null && profile.keyWindow() != null;
        boolean verifierKnown = verify != null || known.open() || profile != null && profile.verify() != null;
        String repeats = effect.text("repeats");
        if (repeats != null && !REPEATS.contains(repeats)) {
            effect.fault("INVALID_VALUE", "repeats", "repeats is refused or accepted" + Fields.near(repeats, REPEATS));
        }
        Map<Integer, String> statusMap = statusMap(effect);
        Effect result = new Effect(
                effect.text("name"),
                key,
                header,
                window,
                replayed,
                values.expression(effect, "receipt_id"),
                labels(effect, variables),
                statusMap,
                settle == null ? Effect.DEFAULT_SETTLE : settle,
                verify,
                resend(effect, key != null && windowKnown),
                onConflict(effect, verifierKnown, statusMap),
                "accepted".equals(repeats),
                Set.copyOf(own),
                null);
        effect.done();
        return result;
    }

    /** Statuses outside 2xx that are stored with the key: a wrong one here would take a limit's no for the first request's. */
    static Set<Integer> replayed(Fields idempotency) {
        JsonNode list = idempotency.optional("replayed", JsonNode::isArray, "a list of HTTP statuses");
        if (list == null) {
            return Effect.DEFAULT_REPLAYED;
        }
        Set<Integer> statuses = new HashSet<>();
        for (int i = 0; i < list.size(); i++) {
            JsonNode status = list.get(i);
            if (!status.isInt() || status.intValue() < 400 || status.intValue() > 499 || status.intValue() == 429) {
                idempotency.fault(
                        "INVALID_VALUE", "replayed",
                        "replayed lists statuses 400 to 499 that the destination stores with the key; 429 and 5xx never speak about an earlier request");
            } else {
                statuses.add(status.intValue());
            }
        }
        return Set.copyOf(statuses);
    }

    /** @param keyed a key goes out, and how long it is honoured is known or may be */
    Resend resend(Fields effect, boolean keyed) {
        JsonNode node = effect.optional("resend", JsonNode::isObject, "an object {max, backoff}");
        if (node == null) {
            return Resend.DEFAULT;
        }
        Fields fields = new Fields(node, effect.at("resend"), faults);
        Duration backoff = fields.duration("backoff");
        Resend resend = new Resend(
                fields.integer("max", 0, OnUnknownReader.MAX_RESENDS, Resend.DEFAULT.max()), backoff == null ? Resend.DEFAULT.backoff() : backoff);
        fields.done();
        if (!keyed) {
            effect.fault("KEY_CONTRACT_MISSING", "resend", "resend needs a destination that honours a key for a known time: declare idempotency {key, window}");
        }
        return resend;
    }

    @Nullable OnConflict onConflict(Fields effect, boolean verifierKnown, Map<Integer, String> statusMap) {
        OnConflict conflict = null;
        for (String name : List.of("on_conflict", "onConflict")) {
            String given = effect.text(name);
            if (given == null) {
                continue;
            }
            if (!CONFLICTS.contains(given)) {
                effect.fault("INVALID_VALUE", name, name + " is one of " + String.join(", ", CONFLICTS) + Fields.near(given, CONFLICTS));
                continue;
            }
            if (conflict != null) {
                effect.fault("INVALID_VALUE", name, "on_conflict is given twice");
            }
            conflict = OnConflict.valueOf(given.toUpperCase(Locale.ROOT));
            if (conflict == OnConflict.VERIFY && !verifierKnown) {
                effect.fault("VERIFIER_MISSING", name, "on_conflict: verify needs a question to ask: declare verify");
            }
            if (statusMap.containsKey(409)) {
                effect.fault("INVALID_VALUE", name, "409 is mapped twice: here and in status");
            }
        }
        return conflict;
    }

    // --- verify ----------------------------------------------------------------------------------------------------------------

    Verifier verifier(Fields fields, Set<String> variables) {
        Set<String> roots = new HashSet<>(variables);
        roots.addAll(VERIFIER_ROOTS);
        String handler = Objects.requireNonNullElse(fields.text("handler"), "http_request");
        if (!handlerKnown.test(handler)) {
            fields.fault("UNKNOWN_HANDLER", "handler", "no handler is named " + handler);
        }
        JsonNode params = fields.optional("params", JsonNode::isObject, "an object");
        Value compiled = handler.equals("http_request")
                ? http.read(readOnly(params, fields), params == null ? fields.pointer : fields.at("params"), null, roots).params()
                : values.value(params == null ? Json.NODES.objectNode() : params, fields.at("params"), roots);
        Expression landed = values.condition(fields, "landed", true);
        Expression absent = values.condition(fields, "absent", false);
        if (absent == null) {
            faults.warn("ABSENT_MISSING", fields.pointer, "without absent the verifier can confirm the effect and never find that it did not happen");
        }
        Duration every = orElse(fields.duration("every"), Verifier.DEFAULT_EVERY);
        Duration maxEvery = fields.duration("max_every");
        Duration giveUp = fields.duration("give_up");
        Duration giveUpAfter = fields.duration("give_up_after");
        if (giveUp != null && giveUpAfter != null) {
            fields.fault("INVALID_VALUE", "give_up_after", "give_up is given twice");
        }
        Duration timeout = orElse(fields.duration("timeout"), Verifier.DEFAULT_TIMEOUT);
        if (timeout.isZero()) {
            fields.fault("INVALID_DURATION", "timeout", "timeout must be longer than nothing");
        }
        if (maxEvery != null && maxEvery.compareTo(every) < 0) {
            fields.fault("INVALID_DURATION", "max_every", "max_every must not be shorter than every");
        }
        int negativeReads = fields.integer("negative_reads", 1, MAX_NEGATIVE_READS, Verifier.DEFAULT_NEGATIVE_READS);
        Integer maxReads = fields.has("max_reads") ? (Integer) fields.integer("max_reads", 1, OnUnknownReader.MAX_READS, negativeReads) : null;
        if (absent != null && maxReads != null && maxReads < negativeReads) {
            fields.fault("INVALID_VALUE", "max_reads", "max_reads is less than negative_reads: absence could never be concluded");
        }
        Verifier verifier = new Verifier(
                handler,
                compiled,
                landed == null ? ValueReader.NEVER : landed,
                absent,
                values.expression(fields, "output"),
                values.expression(fields, "receipt_id"),
                every,
                maxEvery != null ? maxEvery : every.compareTo(Verifier.DEFAULT_MAX_EVERY) > 0 ? every : Verifier.DEFAULT_MAX_EVERY,
                negativeReads,
                giveUp != null ? giveUp : orElse(giveUpAfter, Verifier.DEFAULT_GIVE_UP),
                maxReads,
                timeout,
                fields.flag("before", false));
        fields.done();
        return verifier;
    }

    /** A question must change nothing: {@code read: true} is understood, and everything that is no read is refused. */
    private @Nullable JsonNode readOnly(@Nullable JsonNode params, Fields fields) {
        if (!(params instanceof ObjectNode written)) {
            return params;
        }
        JsonNode method = written.path("method");
        boolean reads = method.isMissingNode()
                || method.isNull()
                || method.isString() && READS.contains(method.stringValue().toUpperCase(Locale.ROOT));
        if (!reads || !written.path("read").asBoolean(true) || written.hasNonNull("body")) {
            faults.add("VERIFIER_NOT_READ_ONLY", fields.at("params"), "a verifier only reads: GET or HEAD, without a body");
        }
        ObjectNode copy = Json.NODES.objectNode();
        written.properties().forEach(member -> copy.set(member.getKey(), member.getValue()));
        return copy.put("read", true);
    }

    private static Duration orElse(@Nullable Duration given, Duration otherwise) {
        return given == null ? otherwise : given;
    }

    // --- labels and statuses ---------------------------------------------------------------------------------------------------

    private Map<String, Value> labels(Fields effect, Set<String> variables) {
        Map<String, Value> labels = new LinkedHashMap<>();
        JsonNode node = effect.optional("labels", JsonNode::isObject, "an object");
        if (node != null) {
            for (Map.Entry<String, JsonNode> label : node.properties()) {
                labels.put(label.getKey(), values.value(label.getValue(), effect.at("labels") + "/" + Pointers.escape(label.getKey()), variables));
            }
        }
        return labels;
    }

    Map<Integer, String> statusMap(Fields effect) {
        Map<Integer, String> map = new LinkedHashMap<>();
        JsonNode node = effect.optional("status", JsonNode::isObject, "an object");
        if (node != null) {
            for (Map.Entry<String, JsonNode> entry : node.properties()) {
                String outcome = entry.getValue().asString("");
                if (!entry.getKey().matches("[1-5]\\d\\d") || !STATUS_OUTCOMES.contains(outcome)) {
                    faults.add(
                            "INVALID_VALUE",
                            effect.at("status") + "/" + Pointers.escape(entry.getKey()),
                            "an entry maps an HTTP status to " + String.join(", ", STATUS_OUTCOMES) + Fields.near(outcome, STATUS_OUTCOMES));
                } else {
                    map.put(Integer.valueOf(entry.getKey()), outcome);
                }
            }
        }
        return map;
    }
}

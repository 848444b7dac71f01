package dev.waybill.definition;

import dev.waybill.definition.DestinationProfile.Hold;
import dev.waybill.definition.Sequence.OnConflict;
import dev.waybill.definition.Sequence.Resend;
import dev.waybill.definition.Sequence.Verifier;
import dev.waybill.json.Fingerprints;
import dev.waybill.json.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Reads {@code destinations[]}: of a sequence version, or of a node. */
final class DestinationReader {
    static final int MAX_PROFILES = 256;
    private static final int MAX_UNKNOWNS = 10_000;
    private static final Hold DEFAULT_HOLD = new Hold(3, Duration.ofSeconds(60), Duration.ofSeconds(30));
    private static final Pattern ADDRESS = Pattern.compile("https?://[^/?#{}@\\s]+(/[^?#{}\\s]*)?", Pattern.CASE_INSENSITIVE);

    private final Faults faults;
    private final EffectReader effects;
    private final ValueReader values;
    private final HttpRequestReader http;
    private final Predicate<String> handlerKnown;
    private final boolean ofNode;

    /** @param ofNode a node's own: each may name the tenant it holds for */
    DestinationReader(Faults faults, Predicate<String> handlerKnown, boolean ofNode) {
        this.faults = faults;
        this.values = new ValueReader(faults);
        this.http = new HttpRequestReader(faults, values);
        this.effects = new EffectReader(faults, values, http, handlerKnown);
        this.handlerKnown = handlerKnown;
        this.ofNode = ofNode;
    }

    Destinations list(Fields fields) {
        JsonNode list = fields.optional("destinations", JsonNode::isArray, "a list of destination profiles");
        List<DestinationProfile> profiles = new ArrayList<>();
        Map<String, String> taken = new HashMap<>();
        for (int i = 0; list != null && i < list.size(); i++) {
            String at = fields.at("destinations") + "/" + i;
            if (i == MAX_PROFILES) {
                faults.add("LIMIT_EXCEEDED", fields.at("destinations"), "at most " + MAX_PROFILES + " destination profiles");
                break;
            }
            if (!list.get(i).isObject()) {
                faults.add("WRONG_TYPE", at, "a destination profile is an object");
                continue;
            }
            DestinationProfile profile = profile(list.get(i), at);
            if (profile == null) {
                continue;
            }
            String scope = profile.tenant() == null ? "" : profile.tenant();
            for (String identity : List.of("name " + profile.name(), "match " + profile.match())) {
                String first = taken.putIfAbsent(scope + "\0" + identity, at);
                if (first != null) {
                    faults.add("DUPLICATE_NAME", at, "the " + identity + " is also that of " + first);
                }
            }
            profiles.add(profile);
        }
        return Destinations.of(profiles);
    }

    private @Nullable DestinationProfile profile(JsonNode written, String at) {
        JsonNode document = written;
        JsonNode preset = written.get("preset");
        if (preset != null && !preset.isNull()) {
            JsonNode known = Presets.get(preset.asString(""));
            if (known == null) {
                faults.add("INVALID_VALUE", at + "/preset", "there is no preset " + preset.asString("") + "; there are " + String.join(", ", Presets.names())
                        + Fields.near(preset.asString(""), Presets.names()));
            } else {
                document = over(known, written);
            }
        }
        Fields fields = new Fields(document, at, faults);
        fields.shown("preset");
        String name = fields.require("name", node -> node.isString() && !node.stringValue().isBlank(), "a non-empty string", Json.NODES.stringNode("?"))
                .stringValue();
        String tenant = ofNode ? fields.text("tenant") : null;
        JsonNode where = fields.require("match", JsonNode::isObject, "{url} or {handler}", Json.NODES.missingNode());
        Fields match = new Fields(where.isMissingNode() ? Json.NODES.objectNode() : where, fields.at("match"), faults);
        String url = match.text("url");
        String handler = match.text("handler");
        if (!where.isMissingNode() && (url == null) == (handler == null)) {
            faults.add("INVALID_VALUE", fields.at("match"), "a profile is found by its url or by its handler: give one of them");
        }
        if (url != null && !ADDRESS.matcher(url).matches()) {
            match.fault("INVALID_VALUE", "url", "match.url is an http(s) address without template, user, query and fragment");
        }
        if (handler != null && !handlerKnown.test(handler)) {
            match.fault("UNKNOWN_HANDLER", "handler", "no handler is named " + handler);
        }
        match.done();

        String header = null;
        Duration window = null;
        Set<Integer> replayed = null;
        KeyRule rule = null;
        JsonNode contract = fields.optional("idempotency", JsonNode::isObject, "an object {header, window, replayed, max_length, charset, ..}");
        if (contract != null) {
            Fields key = new Fields(contract, fields.at("idempotency"), faults);
            header = key.text("header");
            if (header != null) {
                http.checkName(header, key.at("header"));
            }
            window = key.duration("window");
            replayed = key.has("replayed") ? EffectReader.replayed(key) : null;
            rule = rule(key);
            key.done();
        }
        JsonNode question = fields.optional("verify", JsonNode::isObject, "an object {params, landed, absent, ..}");
        Duration settle = fields.duration("settle");
        Verifier verify = null;
        if (question != null) {
            Fields asked = new Fields(question, fields.at("verify"), faults);
            Duration quiet = asked.duration("settle");
            if (quiet != null && settle != null && !quiet.equals(settle)) {
                asked.fault("INVALID_VALUE", "settle", "settle is given twice: here and in the profile");
            }
            settle = quiet == null ? settle : quiet;
            verify = effects.verifier(asked, Set.of());
        }
        Map<Integer, String> statuses = effects.statusMap(fields);
        Resend resend = fields.has("resend") ? effects.resend(fields, true) : null;
        OnConflict conflict = effects.onConflict(fields, verify != null, statuses);
        Expression receiptId = values.expression(fields, "receipt_id");
        SearchLink search = search(fields);
        Hold hold = hold(fields);
        fields.done();
        if (url == null && handler == null) {
            return null;
        }
        String place = url == null ? String.valueOf(handler) : withoutSlash(Fingerprints.displayUrl(url));
        return new DestinationProfile(
                name, place, url != null, tenant, ofNode, header, rule, window, replayed, statuses, settle, verify, resend, conflict, receiptId, search,
                hold, document);
    }

    private static String withoutSlash(String url) {
        return url.endsWith("/") ? withoutSlash(url.substring(0, url.length() - 1)) : url;
    }

    private static @Nullable KeyRule rule(Fields key) {
        if (!key.has("min_length") & !key.has("max_length") & !key.has("charset") & !key.has("quoted")) {
            return null;
        }
        int least = key.integer("min_length", 1, KeyRule.LONGEST, 1);
        int most = key.integer("max_length", 1, KeyRule.LONGEST, KeyRule.LONGEST);
        if (least > most) {
            key.fault("INVALID_VALUE", "min_length", "min_length is greater than max_length: no key could be sent");
        }
        String charset = key.text("charset");
        if (charset != null && !KeyRule.Charset.NAMES.contains(charset)) {
            key.fault("INVALID_VALUE", "charset", "charset is one of " + String.join(", ", KeyRule.Charset.NAMES) + Fields.near(charset, KeyRule.Charset.NAMES));
            charset = null;
        }
        return new KeyRule(
                least, most, charset == null ? KeyRule.Charset.ASCII : KeyRule.Charset.valueOf(charset.toUpperCase(Locale.ROOT)), key.flag("quoted", false));
    }

    private static @Nullable SearchLink search(Fields fields) {
        String template = fields.text("search");
        String fault = template == null ? null : SearchLink.fault(template);
        if (fault != null) {
            fields.fault("INVALID_VALUE", "search", fault);
        }
        return template == null || fault != null ? null : new SearchLink(template);
    }

    private @Nullable Hold hold(Fields fields) {
        JsonNode node = fields.optional("hold", JsonNode::isObject, "an object {unknowns, within, probe}");
        if (node == null) {
            return null;
        }
        Fields policy = new Fields(node, fields.at("hold"), faults);
        Duration within = policy.duration("within");
        Duration probe = policy.duration("probe");
        for (String name : List.of("within", "probe")) {
            if (policy.duration(name) instanceof Duration given && given.isZero()) {
                policy.fault("INVALID_DURATION", name, name + " must be longer than nothing");
            }
        }
        Hold hold = new Hold(
                policy.integer("unknowns", 1, MAX_UNKNOWNS, DEFAULT_HOLD.unknowns()), within == null ? DEFAULT_HOLD.within() : within,
                probe == null ? DEFAULT_HOLD.probe() : probe);
        policy.done();
        return hold;
    }

    /** Member by member; a null takes away. */
    private static JsonNode over(JsonNode below, JsonNode above) {
        if (!below.isObject() || !above.isObject()) {
            return above;
        }
        ObjectNode both = Json.NODES.objectNode();
        below.properties().forEach(member -> both.set(member.getKey(), member.getValue()));
        above.properties().forEach(member ->
                both.set(member.getKey(), below.has(member.getKey()) ? over(below.get(member.getKey()), member.getValue()) : member.getValue()));
        return both;
    }
}

package dev.waybill.definition;

import dev.waybill.definition.Sequence.Effect;
import dev.waybill.definition.Values.Compiled;
import dev.waybill.json.CaseMapping;
import dev.waybill.json.Json;
import dev.waybill.json.SecretText;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Checks of {@code http_request} params that need no data (case A34): a header that cannot be sent as written is refused when the
 * sequence is published, never dropped when it runs.
 */
final class HttpRequestReader {
    private static final String KEY_HEADER = "idempotency-key";

    private final Faults faults;
    private final ValueReader values;

    HttpRequestReader(Faults faults, ValueReader values) {
        this.faults = faults;
        this.values = values;
    }

    /**
     * @param keyHeader whether a header carries an idempotency key, as seed 004 writes it
     * @param reads     whether the step says {@code read: true}
     */
    record Request(Compiled params, boolean keyHeader, boolean reads) {}

    Request read(@Nullable JsonNode params, String pointer, @Nullable Effect effect, Set<String> variables) {
        if (params == null || !params.isObject()) {
            faults.add("PARAM_INVALID", pointer, "http_request needs params {url, method, headers, body}");
            return new Request(new Values.Constant(Json.NODES.objectNode()), false, false);
        }
        if (!params.hasNonNull("url")) {
            faults.add("PARAM_INVALID", pointer, "http_request needs a url");
        }
        if (params.get("method") instanceof JsonNode method && method.isString() && constant(method)) {
            String fault = HeaderRules.methodFault(method.stringValue());
            if (fault != null) {
                faults.add("PARAM_INVALID", pointer + "/method", fault);
            }
        }
        List<String> names = new ArrayList<>();
        List<Compiled> compiled = new ArrayList<>();
        boolean keyHeader = false;
        for (Map.Entry<String, JsonNode> param : params.properties()) {
            String at = pointer + "/" + Pointers.escape(param.getKey());
            names.add(SecretText.escapeName(param.getKey()));
            if (param.getKey().equals("headers") && param.getValue().isObject()) {
                compiled.add(headers(param.getValue(), at, effect, variables));
                keyHeader = carriesKey(params);
            } else {
                compiled.add(values.value(param.getValue(), at, variables));
            }
        }
        return new Request(Values.build(names, compiled), keyHeader, params.path("read").asBoolean(false));
    }

    /** Whether a header is given that carries an idempotency key. */
    static boolean carriesKey(@Nullable JsonNode params) {
        return params != null && params.path("headers").propertyNames().stream().anyMatch(KEY_HEADER::equalsIgnoreCase);
    }

    private Compiled headers(JsonNode headers, String pointer, @Nullable Effect effect, Set<String> variables) {
        String declared = effect == null || effect.key() == null ? null : effect.keyHeader();
        List<String> names = new ArrayList<>();
        List<Compiled> compiled = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        for (Map.Entry<String, JsonNode> header : headers.properties()) {
            String name = header.getKey();
            String at = pointer + "/" + Pointers.escape(name);
            checkName(name, at);
            if (!seen.add(CaseMapping.lower(name))) {
                faults.add("HEADER_INVALID", at, "the header " + name + " is given twice");
            }
            if (name.equalsIgnoreCase(declared)) {
                faults.add("HEADER_FORBIDDEN", at, "the header " + name + " is sent from effect.idempotency; give the key in one place");
            }
            names.add(SecretText.escapeName(name));
            compiled.add(header(header.getValue(), at, name.equalsIgnoreCase(KEY_HEADER), variables));
        }
        return Values.build(names, compiled);
    }

    private Compiled header(JsonNode node, String at, boolean identity, Set<String> variables) {
        if (!node.isString() && !node.isNumber() && !node.isBoolean()) {
            faults.add("HEADER_INVALID", at, "the value of a header is a string, a number or a boolean");
        } else if (constant(node) && HeaderRules.valueFault(node.asString()) instanceof String fault) {
            faults.add("HEADER_INVALID", at, "the header has " + fault);
        }
        if (!identity) {
            return values.value(node, at, variables);
        }
        Compiled key = values.key(node, at, variables);
        return key == null ? new Values.Constant(node) : key instanceof Values.Constant ? key : new Values.Identity(key);
    }

    void checkName(String name, String pointer) {
        if (!HeaderRules.isToken(name)) {
            faults.add("HEADER_INVALID", pointer, "not a header name: " + name);
        } else if (HeaderRules.isForbidden(name)) {
            faults.add("HEADER_FORBIDDEN", pointer, "the header " + name + " is set by the transport and cannot be set by a step");
        }
    }

    private static boolean constant(JsonNode node) {
        String text = node.asString();
        return !text.startsWith("= ") && !Template.isTemplate(text);
    }
}

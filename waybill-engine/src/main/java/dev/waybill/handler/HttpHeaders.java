package dev.waybill.handler;

import dev.waybill.definition.HeaderRules;
import dev.waybill.json.Json;
import dev.waybill.model.Problem;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The header fields of a step as they will be sent, by {@link HeaderRules}. What cannot be sent is refused, never dropped: without its
 * key a safe call is an unsafe one. Messages name the field and never quote a value.
 */
public final class HttpHeaders {
    static final String PARAM_INVALID = "PARAM_INVALID";

    private HttpHeaders() {}

    /** What is wrong with a header's name, or null; for publish-time checks too. */
    public static @Nullable Problem nameFault(String name) {
        if (!HeaderRules.isToken(name)) return invalid("a header name is not a token of RFC 9110");
        return HeaderRules.isForbidden(name) ? invalid("header " + name + " belongs to the transport and cannot be set") : null;
    }

    static @Nullable Problem valueFault(String name, String value) {
        String fault = HeaderRules.valueFault(value);
        return fault == null ? null : invalid("header " + name + " has " + fault);
    }

    /** A key that HTTP would trim is another key at the provider (case A29). */
    static @Nullable Problem keyFault(String name, String key) {
        Problem fault = nameFault(name);
        if (fault == null) fault = valueFault(name, key);
        if (fault == null && (key.isEmpty() || !key.equals(key.strip()))) {
            fault = invalid("the idempotency key for header " + name + " is empty or has white space at an end");
        }
        return fault;
    }

    /**
     * @param headers the step's {@code headers}, secrets revealed
     * @throws StepFailure PARAM_INVALID
     */
    static List<Map.Entry<String, String>> of(JsonNode headers) throws StepFailure {
        if (headers.isMissingNode() || headers.isNull()) return List.of();
        if (!headers.isObject()) throw new StepFailure(invalid("headers must be an object of names and values"));
        List<Map.Entry<String, String>> fields = new ArrayList<>();
        Set<String> seen = new HashSet<>();
        for (Map.Entry<String, JsonNode> header : headers.properties()) {
            String name = header.getKey();
            refuse(nameFault(name));
            if (!seen.add(name.toLowerCase(Locale.ROOT))) throw new StepFailure(invalid("header " + name + " occurs twice"));
            JsonNode value = header.getValue();
            if (!value.isString() && !value.isNumber() && !value.isBoolean()) {
                throw new StepFailure(invalid("header " + name + " must be a string, a number or a boolean"));
            }
            String text = value.isString() ? value.stringValue() : Json.write(value);
            refuse(valueFault(name, text));
            fields.add(Map.entry(name, text));
        }
        return fields;
    }

    static void refuse(@Nullable Problem fault) throws StepFailure {
        if (fault != null) throw new StepFailure(fault);
    }

    static Problem invalid(String message) {
        return Problem.of(PARAM_INVALID, message);
    }
}

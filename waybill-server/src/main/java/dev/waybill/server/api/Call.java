package dev.waybill.server.api;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import io.javalin.http.Context;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** One request as a route sees it: parameters typed, body checked, caller known. */
final class Call {
    static final int DEFAULT_LIMIT = 50;
    static final int MAX_LIMIT = 500;
    private static final int MAX_OFFSET = 1_000_000;
    private static final int MAX_TEXT = 1_024;
    private static final Pattern UUID_TEXT =
            Pattern.compile("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}");

    private final Context context;
    private final Endpoint endpoint;
    private final Body bodies;
    private final Caller caller;
    private @Nullable JsonNode body;

    Call(Context context, Endpoint endpoint, Body bodies, Caller caller) {
        this.context = context;
        this.endpoint = endpoint;
        this.bodies = bodies;
        this.caller = caller;
    }

    Context context() {
        return context;
    }

    String tenant() {
        return caller.tenant();
    }

    /** {@code operator:NAME}, for journals and audits. */
    String actor() {
        return caller.actor();
    }

    /** The tenant that a document names for itself, if the caller may speak for it. */
    String tenantOf(JsonNode document) {
        JsonNode named = document.get("tenant_id");
        return named == null || named.isNull() ? caller.tenant() : caller.tenantNamed(named.asString(""), "/tenant_id");
    }

    // --- path and query --------------------------------------------------------------------------------------------------------

    String path(String name) {
        return context.pathParam(name);
    }

    /**
     * An id that is none cannot be anybody's: the same 404 as for an id that nobody has.
     *
     * @param next the command that shows which there are
     */
    UUID id(String name, String code, String what, String next) {
        String text = context.pathParam(name);
        if (!UUID_TEXT.matcher(text).matches()) {
            throw new WaybillException(404, code, "there is no " + what + " with this id", null, next);
        }
        return UUID.fromString(text);
    }

    @Nullable String query(String name) {
        List<String> values = context.queryParams(name);
        if (values.size() > 1) {
            throw invalid(name, "is given more than once");
        }
        if (values.isEmpty()) {
            return null;
        }
        String value = values.getFirst();
        if (value.isEmpty() || value.length() > MAX_TEXT || Json.hasLoneSurrogate(value) || value.indexOf('\0') >= 0) {
            throw invalid(name, "must be a text of 1 to " + MAX_TEXT + " characters");
        }
        return value;
    }

    String query(String name, String otherwise) {
        String value = query(name);
        return value == null ? otherwise : value;
    }

    String required(String name) {
        String value = query(name);
        if (value == null) {
            throw WaybillException.badRequest("MISSING_PARAMETER", "the query parameter " + name + " is missing", null);
        }
        return value;
    }

    /** Repeated or separated by commas. */
    List<String> queryList(String name) {
        List<String> values = new ArrayList<>();
        for (String text : context.queryParams(name)) {
            for (String value : text.split(",", -1)) {
                values.add(value.strip().toLowerCase(Locale.ROOT));
            }
        }
        return values;
    }

    /** By the rest of the name, for parameters such as {@code metadata.order}. */
    Map<String, String> queryPrefix(String prefix) {
        Map<String, String> values = new TreeMap<>();
        for (String name : context.queryParamMap().keySet()) {
            String value = name.startsWith(prefix) ? query(name) : null;
            if (value != null) {
                values.put(name.substring(prefix.length()), value);
            }
        }
        return values;
    }

    @Nullable UUID queryId(String name) {
        String text = query(name);
        if (text != null && !UUID_TEXT.matcher(text).matches()) {
            throw invalid(name, "must be a UUID");
        }
        return text == null ? null : UUID.fromString(text);
    }

    @Nullable Integer queryInt(String name, int min, int max) {
        String text = query(name);
        if (text == null) {
            return null;
        }
        if (!text.matches("\\d{1,9}") || Integer.parseInt(text) < min || Integer.parseInt(text) > max) {
            throw invalid(name, "must be a number from " + min + " to " + max);
        }
        return Integer.parseInt(text);
    }

    @Nullable Instant queryTime(String name) {
        String text = query(name);
        if (text == null) {
            return null;
        }
        try {
            return OffsetDateTime.parse(text).toInstant();
        } catch (DateTimeException e) {
            throw invalid(name, "must be a time such as 2026-01-31T12:00:00Z");
        }
    }

    int limit() {
        Integer limit = queryInt("limit", 1, MAX_LIMIT);
        return limit == null ? DEFAULT_LIMIT : limit;
    }

    int offset() {
        Integer offset = queryInt("offset", 0, MAX_OFFSET);
        return offset == null ? 0 : offset;
    }

    static WaybillException invalid(String name, String why) {
        return WaybillException.badRequest("INVALID_PARAMETER", "the parameter " + name + " " + why, null);
    }

    // --- headers and body ------------------------------------------------------------------------------------------------------

    /** The Idempotency-Key header, or null. */
    @Nullable String idempotencyKey() {
        return context.header("Idempotency-Key");
    }

    /**
     * The caller's key, from the header or the body; absent = null.
     *
     * @throws WaybillException 400 IDEMPOTENCY_KEY_MISMATCH when both are given and differ (semantics.md section 7)
     */
    @Nullable String idempotencyKey(JsonNode document) {
        String header = context.header("Idempotency-Key");
        JsonNode field = document.get("idempotency_key");
        String inBody = field == null || field.isNull() ? null : field.asString();
        if (header != null && inBody != null && !header.equals(inBody)) {
            throw WaybillException.badRequest(
                    "IDEMPOTENCY_KEY_MISMATCH", "the Idempotency-Key header and idempotency_key differ: which one is meant?",
                    "/idempotency_key");
        }
        return header != null ? header : inBody;
    }

    /** The body, parsed and checked; an empty object when it may be left out and was. */
    JsonNode body() {
        JsonNode known = body;
        if (known == null) {
            known = readBody();
            body = known;
        }
        return known;
    }

    private JsonNode readBody() {
        byte[] bytes = bytes();
        String schema = endpoint.bodySchema;
        if (schema == null || (bytes.length == 0 && endpoint.bodyOptional)) {
            return Json.NODES.objectNode();
        }
        String type = context.contentType();
        String media = type == null ? "" : type.split(";", 2)[0].strip().toLowerCase(Locale.ROOT);
        boolean yaml = endpoint.yaml && List.of("application/yaml", "application/x-yaml", "text/yaml").contains(media);
        if (!yaml && !media.equals("application/json") && !media.endsWith("+json")) {
            throw new WaybillException(
                    415, "UNSUPPORTED_MEDIA_TYPE", "the body must be application/json" + (endpoint.yaml ? " or application/yaml" : ""), null,
                    "set the Content-Type header");
        }
        JsonNode parsed = Body.parse(bytes, yaml);
        bodies.check(schema, parsed);
        return parsed;
    }

    private byte[] bytes() {
        if (context.req().getContentLengthLong() > endpoint.maxBytes) {
            throw Problems.ofStatus(413, null);
        }
        try {
            byte[] bytes = context.req().getInputStream().readNBytes(endpoint.maxBytes + 1);
            if (bytes.length > endpoint.maxBytes) {
                throw Problems.ofStatus(413, null);
            }
            return bytes;
        } catch (IOException e) {
            throw WaybillException.badRequest("BAD_REQUEST", "the body could not be read to its end", null);
        }
    }
}

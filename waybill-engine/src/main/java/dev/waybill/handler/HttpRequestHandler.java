package dev.waybill.handler;

import dev.waybill.json.Json;
import dev.waybill.json.Redactor;
import dev.waybill.json.SecretText;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Proof;
import dev.waybill.model.WaybillException;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.Destination;
import dev.waybill.transport.HttpOutcome;
import dev.waybill.transport.Transport;
import dev.waybill.transport.WireAnswer;
import dev.waybill.transport.WireRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * {@code http_request {url, method, headers, body, timeout_ms, read}}: one call to somebody else's HTTP service.
 *
 * <ul>
 *   <li>{@code method}: POST when there is a body, else GET. GET and HEAD carry no body; CONNECT and TRACE are not sent.
 *   <li>{@code headers}: strings, numbers or booleans; see {@link HttpHeaders}.
 *   <li>{@code body}: a string is sent as it is, anything else as JSON (with its content type unless one is set); null = none.
 *   <li>{@code timeout_ms}: connect to last byte, when shorter than the step's.
 *   <li>{@code read}: true on a GET or HEAD says that it changes nothing: no receipt. Anything else is an effect.
 * </ul>
 *
 * The receipt's key goes out in the declared header, and {@code Waybill-Effect-Id} names the receipt to the provider.
 */
public final class HttpRequestHandler implements EffectHandler {
    public static final String NAME = "http_request";
    public static final String EFFECT_ID_HEADER = "Waybill-Effect-Id";

    private static final Set<String> PARAMS = Set.of("url", "method", "headers", "body", "timeout_ms", "read");
    private static final Pattern METHOD = Pattern.compile("[A-Za-z-]{1,32}");
    private static final Set<String> WITHOUT_BODY = Set.of("GET", "HEAD");
    private static final Set<String> NOT_SENT = Set.of("CONNECT", "TRACE");
    /** Methods for which an absent body is an empty one, with Content-Length: 0 (RFC 9110 section 8.6). */
    private static final Set<String> WITH_BODY = Set.of("POST", "PUT", "PATCH", "PROPPATCH", "REPORT", "QUERY");
    /** The part of a URL that names the host, complete. */
    private static final Pattern HOST_PART = Pattern.compile("(?i)https?://[^/?#]+[/?#].*", Pattern.DOTALL);

    private final Transport transport;
    private final InstantSource clock;

    /**
     * @param clock for Retry-After dates
     */
    public HttpRequestHandler(Transport transport, InstantSource clock) {
        this.transport = transport;
        this.clock = clock;
    }

    @Override
    public boolean readOnly(JsonNode params) {
        JsonNode method = params.path("method");
        boolean reads = method.isString()
                ? WITHOUT_BODY.contains(method.stringValue().toUpperCase(Locale.ROOT))
                : absent(method) && absent(params.path("body"));
        JsonNode read = params.path("read");
        return reads && read.isBoolean() && read.booleanValue();
    }

    @Override
    public boolean preparesWithoutIo(JsonNode params) {
        List<SecretText.Part> parts = SecretText.parts(params.path("url"));
        if (parts == null || parts.isEmpty() || !(parts.getFirst() instanceof SecretText.Part.Text(String start))) return false;
        boolean hostIsKnown = parts.size() == 1 || HOST_PART.matcher(start).matches();
        return hostIsKnown && !AddressPolicy.needsLookup(start);
    }

    @Override
    public Preparation prepare(StepRequest request) {
        try {
            JsonNode params = SecretText.reveal(request.params(), request.tenant(), request.secrets());
            Redactor redactor = Redactor.forRequest(request.params(), request.tenant(), request.secrets());
            return switch (transport.vet(url(params))) {
                case AddressPolicy.Verdict.Refused(Problem problem) -> new Preparation.Refused(new Problem(
                        problem.code(), redactor.redact(problem.message()), problem.retryable(), problem.details()));
                case AddressPolicy.Verdict.Allowed(Destination destination) ->
                    new Preparation.Ready(call(request, params, destination, redactor));
            };
        } catch (StepFailure e) {
            return new Preparation.Refused(e.problem());
        } catch (WaybillException e) {
            return new Preparation.Refused(Problem.of(e.code(), String.valueOf(e.getMessage())));
        }
    }

    private EffectCall call(StepRequest request, JsonNode params, Destination destination, Redactor redactor) throws StepFailure {
        byte[] body = body(params.path("body"));
        String method = method(params.path("method"), body != null);
        if (body == null && WITH_BODY.contains(method)) body = new byte[0];
        List<Map.Entry<String, String>> headers = new ArrayList<>(HttpHeaders.of(params.path("headers")));
        if (isJson(params.path("body")) && value(headers, "Content-Type") == null) {
            headers.add(Map.entry("Content-Type", "application/json"));
        }
        if (request.idempotencyKey() != null) withKey(headers, request.idempotencyHeader(), request.idempotencyKey());
        Duration timeout = timeout(params.path("timeout_ms"), request.timeout());
        checkRead(params.path("read"));
        byte[] bytes = body;
        return dispatch -> send(request, destination, method, headers, bytes, timeout, redactor, dispatch);
    }

    private Outcome send(
            StepRequest request,
            Destination destination,
            String method,
            List<Map.Entry<String, String>> headers,
            byte @Nullable [] body,
            Duration timeout,
            Redactor redactor,
            Dispatch dispatch) {
        List<Map.Entry<String, String>> sent = new ArrayList<>(headers);
        try {
            // The receipt's key is the one that counts; it differs from the step's only if the caller mixed two steps up.
            if (dispatch.idempotencyKey() != null) withKey(sent, request.idempotencyHeader(), dispatch.idempotencyKey());
        } catch (StepFailure e) {
            return new Outcome.NotApplied(Proof.NOT_SENT, e.problem(), null, null);
        }
        if (dispatch.receiptId() != null) sent.add(Map.entry(EFFECT_ID_HEADER, dispatch.receiptId().toString()));
        int cap = request.maxReplyBytes();
        WireAnswer answer = transport.send(new WireRequest(destination, method, sent, body, timeout, cap, dispatch::late));
        return HttpOutcome.of(
                answer, method + " " + destination, request.statusMap(), dispatch.earlierUnknown(), cap, redactor, clock.instant());
    }

    private static String url(JsonNode params) throws StepFailure {
        if (!params.isObject()) throw new StepFailure(HttpHeaders.invalid("params must be an object"));
        for (String name : params.propertyNames()) {
            if (!PARAMS.contains(name)) throw new StepFailure(HttpHeaders.invalid("http_request has no parameter " + name));
        }
        JsonNode url = params.path("url");
        if (!url.isString()) throw new StepFailure(HttpHeaders.invalid("url must be a string"));
        return url.stringValue();
    }

    private static String method(JsonNode method, boolean hasBody) throws StepFailure {
        if (absent(method)) return hasBody ? "POST" : "GET";
        if (!method.isString() || !METHOD.matcher(method.stringValue()).matches()) {
            throw new StepFailure(HttpHeaders.invalid("method must be the name of an HTTP method"));
        }
        String name = method.stringValue().toUpperCase(Locale.ROOT);
        if (NOT_SENT.contains(name)) throw new StepFailure(HttpHeaders.invalid("method " + name + " is not sent"));
        if (hasBody && WITHOUT_BODY.contains(name)) throw new StepFailure(HttpHeaders.invalid(name + " carries no body"));
        return name;
    }

    private static byte @Nullable [] body(JsonNode body) throws StepFailure {
        if (absent(body)) return null;
        if (!body.isString()) return Json.writeBytes(body);
        if (Json.hasLoneSurrogate(body.stringValue())) {
            throw new StepFailure(HttpHeaders.invalid("body has half of a surrogate pair, which has no UTF-8 form"));
        }
        return body.stringValue().getBytes(StandardCharsets.UTF_8);
    }

    private static Duration timeout(JsonNode millis, Duration step) throws StepFailure {
        if (absent(millis)) return step;
        if (!millis.isIntegralNumber() || !millis.canConvertToLong() || millis.longValue() < 1) {
            throw new StepFailure(HttpHeaders.invalid("timeout_ms must be a positive integer"));
        }
        Duration own = Duration.ofMillis(millis.longValue());
        return own.compareTo(step) < 0 ? own : step;
    }

    private static void checkRead(JsonNode read) throws StepFailure {
        if (!absent(read) && !read.isBoolean()) throw new StepFailure(HttpHeaders.invalid("read must be true or false"));
    }

    private static void withKey(List<Map.Entry<String, String>> headers, @Nullable String header, String key) throws StepFailure {
        String name = header == null ? "Idempotency-Key" : header;
        HttpHeaders.refuse(HttpHeaders.keyFault(name, key));
        String present = value(headers, name);
        if (present == null) {
            headers.add(Map.entry(name, key));
        } else if (!present.equals(key)) {
            throw new StepFailure(HttpHeaders.invalid("header " + name + " is set to another value than the step's idempotency key"));
        }
    }

    private static @Nullable String value(List<Map.Entry<String, String>> headers, String name) {
        for (Map.Entry<String, String> header : headers) if (header.getKey().equalsIgnoreCase(name)) return header.getValue();
        return null;
    }

    private static boolean isJson(JsonNode body) {
        return !absent(body) && !body.isString();
    }

    private static boolean absent(JsonNode node) {
        return node.isMissingNode() || node.isNull();
    }
}

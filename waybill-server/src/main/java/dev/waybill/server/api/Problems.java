package dev.waybill.server.api;

import dev.waybill.model.WaybillException;
import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import io.javalin.http.HttpResponseException;
import java.nio.charset.IllegalCharsetNameException;
import java.nio.charset.UnsupportedCharsetException;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Every refusal as RFC 9457 problem+json: {@code type} is the path of the error's page on this server, {@code error} repeats the
 * sentence for clients of the older wire, {@code code} is stable, {@code next} is what to do. Never a stack trace.
 */
final class Problems {
    static final String CONTENT_TYPE = "application/problem+json";
    private static final Logger LOG = LoggerFactory.getLogger(Problems.class);
    private static final Map<Integer, String> TITLES = Map.ofEntries(
            Map.entry(400, "Bad Request"),
            Map.entry(401, "Unauthorized"),
            Map.entry(403, "Forbidden"),
            Map.entry(404, "Not Found"),
            Map.entry(405, "Method Not Allowed"),
            Map.entry(406, "Not Acceptable"),
            Map.entry(408, "Request Timeout"),
            Map.entry(409, "Conflict"),
            Map.entry(410, "Gone"),
            Map.entry(413, "Content Too Large"),
            Map.entry(414, "URI Too Long"),
            Map.entry(415, "Unsupported Media Type"),
            Map.entry(422, "Unprocessable Content"),
            Map.entry(429, "Too Many Requests"),
            Map.entry(431, "Request Header Fields Too Large"),
            Map.entry(500, "Internal Server Error"),
            Map.entry(503, "Service Unavailable"));

    private Problems() {}

    /** What any exception of a route is to the caller. Only what nobody expected is logged, and only that is a 500. */
    static WaybillException of(Exception exception) {
        return switch (exception) {
            case WaybillException e -> e;
            case UnclearCommitException _ -> new WaybillException(
                    503, "COMMIT_UNCLEAR", "the database's answer to the commit was lost: it may or may not have happened", null,
                    "look at the subject, or ask again with the same Idempotency-Key");
            case StoreException e -> {
                LOG.warn("the store did not answer: {}", e.getMessage());
                yield new WaybillException(
                        503, "STORE_UNAVAILABLE", "the database cannot be reached; nothing was changed", null, "try again in a moment");
            }
            case IllegalCharsetNameException _, UnsupportedCharsetException _ -> new WaybillException(
                    415, "UNSUPPORTED_MEDIA_TYPE", "the Content-Type names a charset that does not exist", null, "send UTF-8");
            case HttpResponseException e -> ofStatus(e.getStatus(), null);
            default -> {
                LOG.error("a request failed unexpectedly", exception);
                yield new WaybillException(
                        500, "INTERNAL", "the server failed in a way nobody foresaw; its log has the details", null,
                        "look at the server's log and report it");
            }
        };
    }

    /** What the HTTP layer itself refused. */
    static WaybillException ofStatus(int status, @Nullable String detail) {
        return switch (status) {
            case 404 -> new WaybillException(404, "ROUTE_NOT_FOUND", "there is nothing at this path", null, "see /openapi.json");
            case 405 -> new WaybillException(
                    405, "METHOD_NOT_ALLOWED", "this path does not answer to this method", null, "see /openapi.json");
            case 413 -> new WaybillException(413, "BODY_TOO_LARGE", "the body is larger than " + Body.MAX_BYTES + " bytes");
            case 414 -> new WaybillException(414, "URI_TOO_LONG", "the address is too long");
            case 431 -> new WaybillException(431, "HEADERS_TOO_LARGE", "the headers are larger than this server takes");
            case 503 -> new WaybillException(503, "STOPPING", "the server is stopping", null, "try another node, or again in a moment");
            default -> status < 500
                    ? new WaybillException(
                            status, "BAD_REQUEST", detail == null ? "the request is not valid HTTP for this server" : detail)
                    : new WaybillException(
                            status, "INTERNAL", "the server failed in a way nobody foresaw; its log has the details", null,
                            "look at the server's log and report it");
        };
    }

    static ObjectNode json(WaybillException problem) {
        String message = String.valueOf(problem.getMessage());
        ObjectNode json = JsonNodeFactory.instance
                .objectNode()
                .put("type", "/errors/" + problem.code())
                .put("title", TITLES.getOrDefault(problem.status(), "Error"))
                .put("status", problem.status())
                .put("detail", message)
                .put("code", problem.code())
                .put("error", message);
        if (problem.pointer() != null) {
            json.put("pointer", problem.pointer());
        }
        if (problem.next() != null) {
            json.put("next", problem.next());
        }
        if (problem.details() != null) {
            json.set("details", problem.details());
        }
        return json;
    }
}

package dev.waybill.test;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/** One request that reached the provider completely, as its bytes were. */
public final class Delivery {
    private final long number;
    private final long connection;
    private final HttpRequestReader.Head head;
    private final byte[] body;
    private final @Nullable JsonNode json;

    Delivery(long number, long connection, HttpRequestReader.Head head, byte[] body) {
        this.number = number;
        this.connection = connection;
        this.head = head;
        this.body = body;
        this.json = parse(body);
    }

    private static @Nullable JsonNode parse(byte[] body) {
        try {
            return body.length == 0 ? null : Json.MAPPER.readTree(body);
        } catch (JacksonException notJson) {
            return null;
        }
    }

    /** 1 for the first request whose head was read. */
    public long number() {
        return number;
    }

    /** 1 for the first connection accepted. */
    public long connection() {
        return connection;
    }

    public String method() {
        return head.method();
    }

    /** Path and query as sent. */
    public String target() {
        return head.target();
    }

    /** Without the query. */
    public String path() {
        int query = target().indexOf('?');
        return query < 0 ? target() : target().substring(0, query);
    }

    /** The first value of a query parameter, decoded. */
    public @Nullable String query(String name) {
        int start = target().indexOf('?');
        if (start >= 0) {
            for (String pair : target().substring(start + 1).split("&")) {
                int equals = pair.indexOf('=');
                if (equals >= 0 && URLDecoder.decode(pair.substring(0, equals), StandardCharsets.UTF_8).equals(name)) {
                    return URLDecoder.decode(pair.substring(equals + 1), StandardCharsets.UTF_8);
                }
            }
        }
        return null;
    }

    /** The first value of a header, in any case. */
    public @Nullable String header(String name) {
        return head.header(name);
    }

    /** All headers; look-up ignores case. */
    public Map<String, List<String>> headers() {
        return head.headers();
    }

    /** Request line and headers as sent (ISO 8859-1). */
    public String rawHead() {
        return head.raw();
    }

    public @Nullable String idempotencyKey() {
        return header("Idempotency-Key");
    }

    /** The receipt id, where the caller sends it. */
    public @Nullable String effectId() {
        return header("Waybill-Effect-Id");
    }

    public byte[] body() {
        return body.clone();
    }

    public String text() {
        return new String(body, StandardCharsets.UTF_8);
    }

    /** The body, or null when it is not JSON. */
    public @Nullable JsonNode json() {
        return json;
    }

    String bodySha256() {
        return Digests.sha256(body);
    }

    /** The same for two requests that ask for the same thing, whatever key, headers or member order they carry. */
    public String content() {
        byte[] canonical = json == null ? body : Json.sorted(json);
        return method() + " " + path() + " " + Digests.sha256(canonical).substring(0, 16);
    }

    boolean keepsAlive() {
        return head.keepsAlive();
    }

    @Override
    public String toString() {
        return "#" + number + " " + method() + " " + target() + " " + text();
    }
}

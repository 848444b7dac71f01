package dev.waybill.server.cli;

import dev.waybill.json.Json;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Talks to a server. Nothing is sent twice by itself except reads and starts, which carry a key. */
final class ApiClient {
    private static final Duration CONNECT = Duration.ofSeconds(5);
    private static final Duration WHOLE = Duration.ofSeconds(60);

    private final Connection connection;
    private final HttpClient http = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CONNECT)
            .build();

    ApiClient(Connection connection) {
        this.connection = connection;
    }

    JsonNode get(String path) {
        return read(send(request(path).GET().build()));
    }

    JsonNode post(String path, JsonNode body) {
        return post(path, Json.writeBytes(body), "application/json");
    }

    JsonNode post(String path, byte[] body, String contentType) {
        return read(send(postRequest(path, body, contentType).build()));
    }

    /** With the key the server knows a repeat, so a lost answer is asked for once more. */
    JsonNode postWithKey(String path, JsonNode body, String key) {
        HttpRequest request = postRequest(path, Json.writeBytes(body), "application/json").header("Idempotency-Key", key).build();
        try {
            return read(http.send(request, HttpResponse.BodyHandlers.ofByteArray()));
        } catch (IOException _) {
            return read(send(request));
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    /** The answer whatever its status; for health. */
    HttpResponse<byte[]> raw(String path) {
        return send(request(path).GET().build());
    }

    /** What is not JSON, as it is. */
    byte[] bytes(String path) {
        HttpResponse<byte[]> response = raw(path);
        if (response.statusCode() != 200) {
            read(response);
        }
        return response.body();
    }

    static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private HttpRequest.Builder postRequest(String path, byte[] body, String contentType) {
        return request(path).header("Content-Type", contentType).POST(HttpRequest.BodyPublishers.ofByteArray(body));
    }

    private HttpRequest.Builder request(String path) {
        HttpRequest.Builder request = HttpRequest.newBuilder(connection.uri(path)).timeout(WHOLE).header("Accept", "application/json");
        header(request, "x-api-key", connection.apiKey);
        header(request, "x-tenant-id", connection.tenant);
        String user = System.getProperty("user.name", "").replaceAll("[^A-Za-z0-9._@-]", "_");
        header(request, "x-actor", user.isEmpty() || user.length() > 64 ? null : user);
        return request;
    }

    private void header(HttpRequest.Builder request, String name, @Nullable String value) {
        if (value != null) {
            try {
                request.header(name, value);
            } catch (IllegalArgumentException e) {
                throw new CliFailure(Exit.USAGE, "the value for " + name + " holds characters that no header may hold");
            }
        }
    }

    private HttpResponse<byte[]> send(HttpRequest request) {
        try {
            return http.send(request, HttpResponse.BodyHandlers.ofByteArray());
        } catch (IOException e) {
            URI server = connection.uri("");
            throw new CliFailure(
                    Exit.UNREACHABLE,
                    "no answer from " + server + " (" + (e.getMessage() == null ? "connection refused" : e.getMessage()) + ")",
                    "waybill serve --insecure      (or name another server: --server URL, WAYBILL_URL)");
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    private static CliFailure interrupted() {
        Thread.currentThread().interrupt();
        return new CliFailure(Exit.FAILED, "interrupted");
    }

    private JsonNode read(HttpResponse<byte[]> response) {
        JsonNode json = Json.tryParse(response.body(), Json.MAX_LENIENT_DEPTH).orElse(null);
        if (response.statusCode() < 300 && json != null) {
            return json;
        }
        if (json == null || !json.has("code")) {
            throw new CliFailure(
                    response.statusCode() == 404 ? Exit.NOT_FOUND : Exit.FAILED,
                    connection.uri("") + " answered " + response.statusCode() + ", and not as a Waybill server does",
                    "check --server / WAYBILL_URL");
        }
        String code = json.path("code").asString("");
        StringBuilder message = new StringBuilder(code).append(' ').append(json.path("detail").asString(""));
        if (json.has("pointer") && !json.path("pointer").asString("").isEmpty()) {
            message.append(" (at ").append(json.path("pointer").asString()).append(')');
        }
        List<String> next = new ArrayList<>();
        if (json.path("next").isString()) {
            next.add(json.path("next").asString());
        } else if (json.path("next").isArray()) {
            json.path("next").forEach(item -> next.add(item.asString()));
        } else {
            next.add("see docs/errors/" + code + ".md, or " + connection.uri("/errors/" + code));
        }
        throw new CliFailure(Exit.ofProblem(response.statusCode(), code), message.toString(), next.toArray(String[]::new));
    }
}

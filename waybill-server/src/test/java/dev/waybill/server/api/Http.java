package dev.waybill.server.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import tools.jackson.databind.JsonNode;

/** A small client for tests: every answer with its status, and what must hold of every refusal. */
public final class Http {
    /** One answer. */
    public record Answer(int status, HttpResponse<byte[]> raw) {
        public JsonNode json() {
            return Json.parse(raw.body());
        }

        public String text() {
            return new String(raw.body(), StandardCharsets.UTF_8);
        }

        public String header(String name) {
            return raw.headers().firstValue(name).orElse("");
        }

        /** Holds every refusal to the promise: problem+json, a stable code, no stack trace, no HTML. */
        public Answer refused(int expected, String code) {
            assertThat(status).as(text()).isEqualTo(expected);
            isProblem();
            assertThat(json().path("code").asString()).as(text()).isEqualTo(code);
            return this;
        }

        public void isProblem() {
            assertThat(header("content-type")).startsWith("application/problem+json");
            assertThat(header("x-content-type-options")).isEqualTo("nosniff");
            assertThat(json().path("status").asInt()).isEqualTo(status);
            assertThat(json().path("code").asString()).matches("[A-Z][A-Z0-9_]+");
            assertThat(json().path("error").asString()).isNotBlank();
            assertThat(json().path("type").asString()).isEqualTo("/errors/" + json().path("code").asString());
            assertThat(text()).doesNotContain("\tat ").doesNotContain("Exception").doesNotContainIgnoringCase("<html");
        }
    }

    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final int port;

    public Http(int port) {
        this.port = port;
    }

    public URI uri(String path) {
        return URI.create("http://127.0.0.1:" + port + path);
    }

    public Answer get(String path, String... headers) {
        return send("GET", path, null, headers);
    }

    public Answer post(String path, String json, String... headers) {
        HttpRequest.Builder request = builder(path, headers)
                .setHeader("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(json));
        return send(request.build());
    }

    public Answer send(String method, String path, byte[] body, String... headers) {
        HttpRequest.BodyPublisher publisher =
                body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofByteArray(body);
        return send(builder(path, headers).method(method, publisher).build());
    }

    private HttpRequest.Builder builder(String path, String... headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri(path));
        for (int i = 0; i < headers.length; i += 2) {
            request.setHeader(headers[i], headers[i + 1]);
        }
        return request;
    }

    public Answer send(HttpRequest request) {
        try {
            HttpResponse<byte[]> response = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
            return new Answer(response.statusCode(), response);
        } catch (IOException e) {
            throw new AssertionError("no answer to " + request, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** Bytes as they are, and everything that came back until the server closed. */
    public String raw(byte[] request) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream().write(request);
            socket.getOutputStream().flush();
            socket.shutdownOutput();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        }
    }
}

package dev.waybill.server.demo;

import dev.waybill.json.Json;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * What people write without an engine, as well as it can be written in one page: {@code STRATEGY PROVIDER_URL ORDERS_FILE JOURNAL_FILE
 * [KILL_AT]}. All keep a journal on disk, forced at every line. {@code retry} is the consumer of a work queue: an order is taken until it is
 * done, and errors, timeouts and 5xx are tried three times; {@code retry_key} sends one key per order with it, as Acme Pay's documentation
 * recommends. {@code no_retry} marks an order as started and sends once.
 */
public final class PlainClient {
    private static final int TRIES = 3;
    private static final long BACKOFF_MILLIS = 200;
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final boolean retries;
    private final boolean keys;
    private final String provider;
    private final FileChannel journal;
    private final Set<String> written;
    private final @Nullable KillAt killAt;

    private PlainClient(Strategy strategy, String provider, Path journal, @Nullable KillAt killAt) throws IOException {
        this.retries = strategy.retries();
        this.keys = strategy == Strategy.RETRY_KEY;
        this.provider = provider;
        this.written = new LinkedHashSet<>(Files.exists(journal) ? Files.readAllLines(journal) : List.of());
        this.journal = FileChannel.open(journal, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
        this.killAt = killAt;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Children.endWithStandardInput();
        PlainClient client = new PlainClient(
                Strategy.valueOf(arguments[0]), arguments[1], Path.of(arguments[3]),
                arguments.length > 4 ? KillAt.valueOf(arguments[4]) : null);
        for (Order order : Order.read((ArrayNode) Json.parse(Files.readString(Path.of(arguments[2]))))) {
            client.take(order);
        }
        System.out.println("END");
    }

    /** How a request ended: an answer, or why there is none. */
    private record Answer(int status, JsonNode body, @Nullable String trouble) {
        boolean worthAnotherTry() {
            return trouble != null || status >= 500;
        }

        String words() {
            String code = body.path("error").path("code").asString("");
            return trouble != null ? trouble : (status + " " + code).strip();
        }
    }

    private void take(Order order) throws IOException, InterruptedException {
        if (has("done", order) || has("failed", order) || (!retries && has("started", order))) {
            return;
        }
        System.out.println(order.name() + " taken");
        reached(KillAt.PREPARED, order);
        if (!retries) {
            write("started", order, "");
        }
        String charge = charged(order);
        if (charge == null) {
            Answer answer = call(order, order.chargePath(), order.chargeKey(), order.json());
            if (answer.worthAnotherTry() || answer.status >= 400) {
                end(order, "failed", answer.status >= 400 ? "refused: " + answer.words() : "gives up: " + answer.words());
                return;
            }
            charge = answer.body.path("id").asString();
            reached(KillAt.COMMITTED, order);
            write("charged", order, charge);
            reached(KillAt.OUTPUT, order);
        }
        ObjectNode shipment = Json.NODES.objectNode().put("order", order.name()).put("charge", charge);
        Answer answer = call(order, Order.SHIPMENTS, order.shipKey(), shipment);
        boolean shipped = answer.trouble == null && answer.status < 300;
        end(order, shipped ? "done" : "failed", shipped ? "shipped" : "paid, not shipped: " + answer.words());
    }

    private Answer call(Order order, String path, String key, JsonNode body) throws InterruptedException {
        for (int tries = 1; ; tries++) {
            if (path.equals(order.chargePath())) {
                reached(KillAt.DISPATCHED, order);
            }
            Answer answer = send(path, key, body);
            if (!answer.worthAnotherTry() || !retries || tries == TRIES) {
                return answer;
            }
            TimeUnit.MILLISECONDS.sleep(BACKOFF_MILLIS << (tries - 1));
        }
    }

    private Answer send(String path, String key, JsonNode body) throws InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(provider + path))
                .timeout(TIMEOUT)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofByteArray(Json.writeBytes(body)));
        if (keys) {
            request.header(Order.KEY_HEADER, key);
        }
        try {
            HttpResponse<byte[]> response = http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
            return new Answer(response.statusCode(), Json.tryParse(response.body()).orElse(Json.NODES.missingNode()), null);
        } catch (IOException e) {
            return new Answer(0, Json.NODES.missingNode(), deepest(e));
        }
    }

    private static String deepest(Throwable e) {
        Throwable at = e;
        while (at.getCause() != null) {
            at = at.getCause();
        }
        return at.getMessage() == null ? at.getClass().getSimpleName() : at.getMessage();
    }

    private void reached(KillAt point, Order order) {
        if (point == killAt && order.fate() == Order.Fate.KILLED) {
            Children.stopForEver(point.name());
        }
    }

    private boolean has(String what, Order order) {
        return written.stream().anyMatch(line -> line.startsWith(what + " " + order.name() + " "));
    }

    private @Nullable String charged(Order order) {
        String start = "charged " + order.name() + " ";
        return written.stream().filter(line -> line.startsWith(start)).map(line -> line.substring(start.length())).findFirst().orElse(null);
    }

    private void end(Order order, String what, String words) throws IOException {
        write(what, order, words);
        System.out.println(order.name() + " " + words);
    }

    private void write(String what, Order order, String detail) throws IOException {
        String line = what + " " + order.name() + " " + detail;
        journal.write(ByteBuffer.wrap((line + "\n").getBytes(StandardCharsets.UTF_8)));
        journal.force(false);
        written.add(line);
    }
}

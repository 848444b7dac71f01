package dev.waybill.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Drives a {@link FakeProvider} in another process: writes its script, hears of every ledger line as it is written, releases what the
 * script has paused. Rules with conditions or latches in code cannot cross.
 */
public final class ProviderClient implements AutoCloseable {
    private static final Duration START = Duration.ofSeconds(60);

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final int port;
    private final int controlPort;
    private final Processes.@Nullable Child process;
    private final List<LedgerEntry> events = new ArrayList<>();
    private boolean ended;

    private ProviderClient(int port, int controlPort, Processes.@Nullable Child process) {
        this.port = port;
        this.controlPort = controlPort;
        this.process = process;
        Thread.ofPlatform().daemon().name("acme-pay-events").start(this::follow);
    }

    /** Starts a provider process and connects to it; {@link #close} ends it. */
    public static ProviderClient launch(Path ledger, String... moreArguments) {
        List<String> arguments = new ArrayList<>(List.of("--port", "0", "--ledger", ledger.toString(), "--control"));
        arguments.addAll(List.of(moreArguments));
        Processes.Child child = Processes.java(FakeProvider.class, List.of("-Xmx128m"), arguments);
        int port = lastNumber(child.awaitLine(line -> line.startsWith("listening "), START));
        return new ProviderClient(port, lastNumber(child.awaitLine(line -> line.startsWith("control "), START)), child);
    }

    /** Connects to a provider somebody else started. */
    public static ProviderClient connect(int port, int controlPort) {
        return new ProviderClient(port, controlPort, null);
    }

    private static int lastNumber(String line) {
        return Integer.parseInt(line.substring(line.lastIndexOf(' ') + 1));
    }

    public int port() {
        return port;
    }

    /** @param path with its slash */
    public String url(String path) {
        return "http://127.0.0.1:" + port + path;
    }

    /** Puts these in place of all rules. */
    public void script(Rule... rules) {
        for (Rule rule : rules) {
            boolean code = rule.also() != null || rule.behaviours().stream().anyMatch(Behaviour::waitsForCode);
            if (code) {
                throw new IllegalArgumentException("a rule with a condition or a latch in code stays in its process: use Match and Hold.Released");
            }
        }
        post("/rules", Json.MAPPER.writeValueAsString(rules));
    }

    /** Lets a paused, swallowed or stalled delivery go on: {@link LedgerEntry#delivery()}. */
    public void release(long delivery) {
        post("/release?delivery=" + delivery, "");
    }

    public void releaseAll() {
        post("/release?delivery=all", "");
    }

    /** {@code {seen, applied, connections, applied_per_key, applied_per_path, applied_per_content}}. */
    public JsonNode stats() {
        return Json.MAPPER.readTree(send(request("/stats").GET().build()));
    }

    /** Every ledger line heard of so far. */
    public synchronized List<LedgerEntry> events() {
        return List.copyOf(events);
    }

    /** Waits for a booking of a request that fits, past or to come. */
    public LedgerEntry awaitBooked(Predicate<LedgerEntry> fits, Duration timeout) {
        return awaitEvent(entry -> entry.kind() == LedgerEntry.Kind.APPLY && fits.test(entry), timeout);
    }

    /** Waits for a ledger line, past or to come. */
    public synchronized LedgerEntry awaitEvent(Predicate<LedgerEntry> fits, Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        for (int i = 0; ; i++) {
            while (i >= events.size()) {
                long left = deadline - System.nanoTime();
                if (left <= 0 || ended) {
                    throw new AssertionError("no such line in the provider's ledger " + (ended ? "before it ended" : "within " + timeout)
                            + "; heard of: " + events);
                }
                try {
                    TimeUnit.NANOSECONDS.timedWait(this, left);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new IllegalStateException("interrupted while waiting for the provider", e);
                }
            }
            if (fits.test(events.get(i))) {
                return events.get(i);
            }
        }
    }

    /** Ends the provider, its process too when {@link #launch} started it. */
    public void shutdown() {
        post("/shutdown", "");
        if (process != null) {
            process.waitFor(START);
        }
    }

    @Override
    public void close() {
        if (process != null) {
            process.close();
        }
        http.shutdownNow();
    }

    private void follow() {
        try (var lines = http.send(request("/events?after=0").GET().build(), HttpResponse.BodyHandlers.ofLines()).body()) {
            lines.map(line -> Json.MAPPER.readValue(line, LedgerEntry.class)).forEach(this::heard);
        } catch (IOException | UncheckedIOException providerEnded) {
            // Said by ended(), to whoever waits.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            ended();
        }
    }

    private synchronized void heard(LedgerEntry entry) {
        events.add(entry);
        notifyAll();
    }

    private synchronized void ended() {
        ended = true;
        notifyAll();
    }

    private void post(String path, String body) {
        send(request(path).POST(HttpRequest.BodyPublishers.ofString(body)).build());
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + controlPort + path));
    }

    private String send(HttpRequest request) {
        try {
            HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() != 200) {
                throw new IllegalArgumentException("the provider refused " + request.uri().getPath() + ": " + response.body());
            }
            return response.body();
        } catch (IOException e) {
            throw new UncheckedIOException("the provider's control port " + controlPort + " does not answer", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while talking to the provider", e);
        }
    }
}

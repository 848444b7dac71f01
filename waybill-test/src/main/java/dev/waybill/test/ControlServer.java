package dev.waybill.test;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Executors;
import tools.jackson.core.JacksonException;
import tools.jackson.core.type.TypeReference;

/**
 * How a director in another process writes the script and hears of bookings at once. On loopback, on a port of its own, so that it can
 * never be mistaken for the provider: {@code POST /rules} (all rules anew), {@code POST /release?delivery=N} (or {@code all}),
 * {@code POST /reset}, {@code POST /shutdown}, {@code GET /stats}, {@code GET /events?after=SEQ} (ledger lines as they are written).
 */
final class ControlServer implements AutoCloseable {
    private final FakeProvider provider;
    private final HttpServer server;

    ControlServer(FakeProvider provider) throws IOException {
        this.provider = provider;
        this.server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/rules", exchange -> {
            try {
                List<Rule> rules = Json.MAPPER.readValue(exchange.getRequestBody().readAllBytes(), new TypeReference<>() {});
                provider.script(rules.toArray(Rule[]::new));
                answer(exchange, 200, "{}");
            } catch (JacksonException e) {
                answer(exchange, 400, e.getOriginalMessage());
            }
        });
        server.createContext("/release", exchange -> {
            String which = parameter(exchange, "all");
            if (which.equals("all")) {
                provider.releaseAll();
            } else {
                provider.release(Long.parseLong(which));
            }
            answer(exchange, 200, "{}");
        });
        server.createContext("/reset", exchange -> {
            provider.reset();
            answer(exchange, 200, "{}");
        });
        server.createContext("/stats", exchange -> answer(exchange, 200, provider.stats().toString()));
        server.createContext("/events", this::events);
        server.createContext("/shutdown", exchange -> {
            answer(exchange, 200, "{}");
            provider.close();
        });
        server.start();
    }

    int port() {
        return server.getAddress().getPort();
    }

    /** Its dispatcher would keep the process alive. */
    @Override
    public void close() {
        server.stop(0);
    }

    private void events(HttpExchange exchange) throws IOException {
        long after = Long.parseLong(parameter(exchange, "0"));
        exchange.sendResponseHeaders(200, 0);
        try (OutputStream out = exchange.getResponseBody()) {
            for (var entries = provider.ledgerFile().awaitAfter(after); !entries.isEmpty(); ) {
                for (LedgerEntry entry : entries) {
                    out.write((Json.MAPPER.writeValueAsString(entry) + "\n").getBytes(StandardCharsets.UTF_8));
                    after = entry.seq();
                }
                out.flush();
                entries = provider.ledgerFile().awaitAfter(after);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The value of the only query parameter. */
    private static String parameter(HttpExchange exchange, String otherwise) {
        String query = exchange.getRequestURI().getQuery();
        return query == null ? otherwise : query.substring(query.indexOf('=') + 1);
    }

    private static void answer(HttpExchange exchange, int status, String body) throws IOException {
        try (exchange) {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }
}

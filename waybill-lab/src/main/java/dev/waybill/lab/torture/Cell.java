package dev.waybill.lab.torture;

import dev.waybill.test.Processes;
import dev.waybill.test.TestPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What is tortured: a store, engines on it, and the provider they call. */
final class Cell implements AutoCloseable {
    /** A node is dead 3 s after its last heartbeat; a drain waits less than a step may take, so that it has something to give up. */
    private static final List<String> TIMES = List.of("--lease-ms", "3000", "--heartbeat-ms", "700", "--drain-ms", "1000");

    private final Path directory;
    private final TestPostgres.@Nullable Server server;
    private final TestPostgres.@Nullable Database database;
    private final Processes.Child provider;
    private final int providerPort;
    private final List<Node> nodes = new ArrayList<>();
    private final AtomicInteger turn = new AtomicInteger();
    private final Map<String, AtomicLong> counted = new ConcurrentHashMap<>();

    Cell(Path directory, boolean postgres, int engines, long seed) throws IOException {
        this.directory = directory;
        this.server = postgres ? TestPostgres.server() : null;
        if (server != null) {
            server.start();
        }
        this.database = server == null ? null : server.database();
        this.provider = Processes.java(ProviderMain.class, List.of("-Xmx128m"), List.of(ledger().toString(), Long.toString(seed)));
        this.providerPort = Integer.parseInt(
                provider.awaitLine(line -> line.startsWith("PORT "), Duration.ofSeconds(60)).substring("PORT ".length()));
        for (int i = 1; i <= engines; i++) {
            String name = "node-" + i;
            List<String> arguments = new ArrayList<>(List.of(
                    "--store", storeUrl(), "--node-name", name,
                    "--node-directory", Files.createDirectories(directory.resolve(name)).toString(),
                    "--allow", "127.0.0.1:" + providerPort, "--allow", "localhost:" + providerPort, "--counts"));
            arguments.addAll(TIMES);
            nodes.add(new Node(name, directory, arguments, counted));
        }
    }

    Path ledger() {
        return directory.resolve("ledger.jsonl");
    }

    String storeUrl() {
        return database == null ? "sqlite:" + directory.resolve("waybill.db") : database.waybillUrl();
    }

    /** With SQL of its own, past every engine. */
    Connection connect() throws SQLException {
        return database == null ? DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("waybill.db")) : database.connect();
    }

    TestPostgres.@Nullable Server server() {
        return server;
    }

    int providerPort() {
        return providerPort;
    }

    void calmProvider() {
        provider.send("calm");
    }

    List<Node> nodes() {
        return nodes;
    }

    Map<String, AtomicLong> counted() {
        return counted;
    }

    /** The next node that seems to serve, in turn. */
    Optional<Node> anyReady() {
        List<Node> ready = nodes.stream().filter(Node::isReady).toList();
        return ready.isEmpty() ? Optional.empty() : Optional.of(ready.get(Math.floorMod(turn.getAndIncrement(), ready.size())));
    }

    @Override
    public void close() {
        nodes.forEach(Node::killIfThere);
        provider.close();
        if (server != null) {
            server.close();
        }
    }
}

package dev.waybill.lab.torture;

import dev.waybill.test.FaultProxy;
import dev.waybill.test.Processes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** What is tortured: engines on a store, the provider they call, and every link between them. */
final class Cell implements AutoCloseable {
    /** A node is dead 3 s after its last heartbeat; a drain waits less than a step may take, so that it has something to give up. */
    private static final List<String> TIMES = List.of("--lease-ms", "3000", "--heartbeat-ms", "700", "--drain-ms", "1000");

    private static final int ROADS = 4;

    private final Class<?> main;
    private final Path directory;
    private final Ground ground;
    private final Processes.Child provider;
    private final List<Road> roads = new ArrayList<>();
    private final List<Node> nodes = new ArrayList<>();
    private final AtomicInteger turn = new AtomicInteger();
    private final Map<String, AtomicLong> counted = new ConcurrentHashMap<>();

    /**
     * @param main   of the engines
     * @param ground becomes this cell's, to be closed with it
     */
    Cell(Class<?> main, Path directory, Ground ground, int engines, long seed) throws IOException {
        this.main = main;
        this.directory = directory;
        this.ground = ground;
        List<String> asked = new ArrayList<>(List.of(ledger().toString(), Long.toString(seed)));
        asked.addAll(ground.witness());
        this.provider = Processes.java(ProviderMain.class, List.of("-Xmx192m"), asked);
        int port = Integer.parseInt(
                provider.awaitLine(line -> line.startsWith("PORT "), Duration.ofSeconds(60)).substring("PORT ".length()));
        for (int i = 1; i <= ROADS; i++) {
            roads.add(new Road("road-" + i, FaultProxy.to("127.0.0.1", port)));
        }
        List<String> jvm = train();
        for (int i = 1; i <= engines; i++) {
            String name = "node-" + i;
            nodes.add(new Node(main, jvm, name, directory, arguments(i, name), counted));
        }
    }

    /** One engine comes, makes the schema and goes again; the classes it loaded make every later start cost half of its own. */
    private List<String> train() throws IOException {
        Path archive = directory.resolve("engine.jsa");
        List<String> jvm = new ArrayList<>(Node.JVM);
        jvm.addAll(List.of("-Xlog:disable", "-XX:ArchiveClassesAtExit=" + archive));
        try (Processes.Child trained = Processes.java(main, jvm, arguments(1, "trainer"))) {
            trained.awaitLine(line -> line.startsWith("READY "), Duration.ofSeconds(120));
            trained.endInput();
            trained.waitFor(Duration.ofSeconds(120));
        }
        jvm.removeLast();
        if (Files.exists(archive)) {
            jvm.add("-XX:SharedArchiveFile=" + archive);
        }
        return jvm;
    }

    private List<String> arguments(int number, String name) throws IOException {
        List<String> arguments = new ArrayList<>(List.of(
                "--store", ground.storeUrl(number), "--node-name", name,
                "--node-directory", Files.createDirectories(directory.resolve(name)).toString(), "--counts"));
        for (Road road : roads) {
            arguments.addAll(List.of("--allow", "127.0.0.1:" + road.wire().port(), "--allow", "localhost:" + road.wire().port()));
        }
        arguments.addAll(TIMES);
        return arguments;
    }

    Path ledger() {
        return directory.resolve("ledger.jsonl");
    }

    Ground ground() {
        return ground;
    }

    List<Road> roads() {
        return roads;
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
        try {
            Files.write(directory.resolve("provider.log"), provider.errors());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        roads.forEach(road -> road.wire().close());
        ground.close();
    }
}

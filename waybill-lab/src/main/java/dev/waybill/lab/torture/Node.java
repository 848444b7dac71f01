package dev.waybill.lab.torture;

import dev.waybill.json.Json;
import dev.waybill.test.Processes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** One machine of the cell: engines come and go on it, one at a time, with the same node directory. */
final class Node {
    private static final Duration PATIENCE = Duration.ofSeconds(90);
    private static final Duration TO_GET_TO_WORK = Duration.ofMillis(800);
    private static final Duration BEFORE_ANOTHER_START = Duration.ofMillis(300);
    static final List<String> JVM = List.of(
            "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dlogback.configurationFile=lab-logback.xml");

    private final Class<?> main;
    private final List<String> jvm;
    private final String name;
    private final Path directory;
    private final List<String> arguments;
    private final Map<String, AtomicLong> counted;
    private final AtomicInteger starts = new AtomicInteger();
    private final Semaphore free = new Semaphore(1);
    private volatile @Nullable Engine engine;
    private volatile long readySince;

    /**
     * @param main    {@code LabEngine}, or another engine that speaks its line protocol
     * @param counted gets what the engines count, summed over all of them
     */
    Node(Class<?> main, List<String> jvm, String name, Path directory, List<String> arguments, Map<String, AtomicLong> counted) {
        this.main = main;
        this.jvm = List.copyOf(jvm);
        this.name = name;
        this.directory = directory;
        this.arguments = List.copyOf(arguments);
        this.counted = counted;
    }

    String name() {
        return name;
    }

    /** For one deed at a time; {@link #give} it back, from any thread. */
    boolean take() {
        return free.tryAcquire();
    }

    void give() {
        free.release();
    }

    int starts() {
        return starts.get();
    }

    /** One process. */
    private final class Engine {
        final Processes.Child child = Processes.java(main, jvm, arguments);
        final Map<Integer, CompletableFuture<JsonNode>> asked = new ConcurrentHashMap<>();
        final AtomicInteger requests = new AtomicInteger();
        final CompletableFuture<Boolean> ready = new CompletableFuture<>();
        volatile CompletableFuture<String> held = new CompletableFuture<>();

        void listen() {
            try {
                for (int line = 0; ; line++) {
                    heard(child.awaitLine(line, any -> true, Duration.ofDays(1)));
                }
            } catch (AssertionError ended) {
                // A child's lines end with the child.
            }
            ready.completeExceptionally(new IllegalStateException("node " + name + " ended before it was ready"));
            asked.values().forEach(answer -> answer.cancel(false));
        }

        private void heard(String line) {
            if (line.startsWith("= ")) {
                JsonNode answer = Json.parseDefinition(line.substring(2));
                CompletableFuture<JsonNode> waiting = asked.remove(answer.path("id").asInt());
                if (waiting != null) {
                    waiting.complete(answer);
                }
            } else if (line.startsWith("READY ")) {
                ready.complete(true);
            } else if (line.startsWith("AT ")) {
                held.complete(line.substring(3));
            } else if (line.startsWith("COUNT ")) {
                String[] parts = line.split(" ");
                counted.computeIfAbsent(parts[1], key -> new AtomicLong()).addAndGet(Long.parseLong(parts[2]));
            }
        }
    }

    /** Starts an engine and waits until it serves; one that refuses because the store is away is started again, as a supervisor would. */
    void start() {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            Engine started = new Engine();
            engine = started;
            starts.incrementAndGet();
            Thread.ofPlatform().daemon().name("listen-" + name).start(started::listen);
            if (get(started.ready, Duration.ofNanos(deadline - System.nanoTime())).isPresent()) {
                readySince = System.nanoTime();
                return;
            }
            gone(started);
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("node " + name + " does not start; see its logs in " + directory);
            }
            LockSupport.parkNanos(BEFORE_ANOTHER_START.toNanos());
        }
    }

    private static <T> Optional<T> get(CompletableFuture<T> future, Duration atMost) {
        try {
            return Optional.ofNullable(future.get(Math.max(1, atMost.toMillis()), TimeUnit.MILLISECONDS));
        } catch (ExecutionException | TimeoutException | java.util.concurrent.CancellationException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    /** It serves, and has done so for a moment: killing nothing but starting processes would be no torture. */
    boolean isAtWork() {
        return isReady() && System.nanoTime() - readySince > TO_GET_TO_WORK.toNanos();
    }

    boolean isReady() {
        Engine current = engine;
        return current != null && current.child.isAlive() && current.ready.isDone() && !current.ready.isCompletedExceptionally();
    }

    /** {@code {ok}} or {@code {error: {code, status, message}}}; nothing when no answer came: whether it was done is then not known. */
    Optional<JsonNode> ask(String what, Consumer<ObjectNode> more, Duration atMost) {
        Engine current = engine;
        if (current == null || !isReady()) {
            return Optional.empty();
        }
        int id = current.requests.incrementAndGet();
        ObjectNode request = Json.NODES.objectNode().put("id", id).put("do", what);
        more.accept(request);
        CompletableFuture<JsonNode> answer = new CompletableFuture<>();
        current.asked.put(id, answer);
        try {
            synchronized (current) {
                current.child.send(Json.write(request));
            }
        } catch (UncheckedIOException dead) {
            return Optional.empty();
        }
        return get(answer, atMost);
    }

    // --- what is done to it ----------------------------------------------------------------------------------------------------

    private Engine current() {
        Engine current = engine;
        if (current == null) {
            throw new IllegalStateException("node " + name + " was never started");
        }
        return current;
    }

    /** SIGKILL. */
    void kill() {
        gone(current());
    }

    void killIfThere() {
        Engine current = engine;
        if (current != null && current.child.isAlive()) {
            gone(current);
        }
    }

    /** @return the point and path at which a thread is held, or nothing when none came there in time */
    Optional<String> holdAt(String point, Duration atMost) {
        Engine current = current();
        current.held = new CompletableFuture<>();
        ask("stop", it -> it.put("at", point), atMost);
        return get(current.held, atMost);
    }

    void release() {
        ask("open", it -> {}, Duration.ofSeconds(5));
    }

    /** Its wall clock is off by this much from now on, until it is started again. @return whether it said so */
    boolean setClock(Duration offset) {
        return ask("clock", it -> it.put("offset", offset.toMillis()), Duration.ofSeconds(5)).filter(it -> it.has("ok")).isPresent();
    }

    void freeze() {
        current().child.freeze();
    }

    void thaw() {
        current().child.thaw();
    }

    /** SIGTERM. @return the exit code of the drained engine, or -1 when it had to be killed */
    int terminate() {
        Engine current = current();
        current.child.terminate();
        int exit;
        try {
            exit = current.child.waitFor(Duration.ofSeconds(30));
        } catch (AssertionError stillThere) {
            exit = -1;
        }
        gone(current);
        return exit;
    }

    private void gone(Engine ended) {
        ended.child.kill();
        try {
            Files.write(directory.resolve(name + "-" + starts.get() + ".log"), ended.child.errors());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

package dev.waybill.lab.points;

import dev.waybill.EngineOptions;
import dev.waybill.Waybill;
import dev.waybill.lab.points.Machine.Fault;
import dev.waybill.lab.points.Machine.Kind;
import dev.waybill.lab.points.Trial.Outcome;
import dev.waybill.store.sqlite.SqliteConfig;
import dev.waybill.store.sqlite.SqliteStore;
import dev.waybill.test.FakeProvider;
import dev.waybill.test.TestPostgres;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.HttpTransport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Runs scenarios with a fault at every boundary. A clean run tells the boundaries; one trial for each is all singles; what the recovery
 * of each passed is where it is struck a second time.
 */
final class Enumeration implements AutoCloseable {
    /** A point that depends on timing (a poll, a look-up) may not be passed the next time; then the trial is made again. */
    private static final int TRIES = 3;

    /** A verb's n-th statement. */
    private static final Pattern STATEMENT = Pattern.compile("([a-zA-Z-]+#\\d+)\\.(\\d+):.*");

    private final List<Worker> workers = new ArrayList<>();
    private final ExecutorService burials = Executors.newVirtualThreadPerTaskExecutor();
    private final Path directory;

    /** One trial at a time, on a ground of its own. */
    private static final class Worker {
        /** A new provider after so many trials: its ledger is read from the start at every look. */
        private static final int TRIALS_PER_LEDGER = 50;

        final Ground ground;
        final String name;
        final List<JsonNode> client = new ArrayList<>();
        final List<JsonNode> strikes = new ArrayList<>();
        final List<Path> ledgers = new ArrayList<>();
        private final Mutant mutant;
        private final ExecutorService burials;
        private Trial.Bench bench;
        private int trials;

        Worker(Ground ground, String name, Mutant mutant, ExecutorService burials) {
            this.ground = ground;
            this.name = name;
            this.mutant = mutant;
            this.burials = burials;
            this.bench = newBench();
        }

        private Trial.Bench newBench() {
            Path ledger = ground.directory().resolve("ledger-" + ledgers.size() + ".jsonl");
            ledgers.add(ledger);
            return new Trial.Bench(
                    ground, FakeProvider.builder().ledger(ledger).clock(ground.clock()).start(), new AtomicLong(), mutant, burials);
        }

        Outcome tried(Task task) throws IOException, SQLException {
            if (trials++ % TRIALS_PER_LEDGER == TRIALS_PER_LEDGER - 1) {
                bench.provider().close();
                bench = newBench();
            }
            Trial trial = new Trial(bench, task.scenario, task.faults, name + "-" + trials);
            Outcome outcome = trial.run();
            client.addAll(trial.clientJournal());
            strikes.addAll(trial.strikes());
            return outcome;
        }

        void close() {
            bench.provider().close();
            ground.close();
        }
    }

    Enumeration(boolean postgres, int count, List<Scenario> scenarios, Mutant mutant, InstantSource wall) throws IOException, SQLException {
        this.directory = Files.createTempDirectory("waybill-points-");
        for (int i = 0; i < count; i++) {
            Path own = Files.createDirectory(directory.resolve("worker-" + i));
            Ground ground = postgres
                    ? new PostgresGround(TestPostgres.database(), own, wall)
                    : new SqliteGround(own, wall);
            Waybill.Builder builder = postgres
                    ? Waybill.url(ground.url())
                    : Waybill.store(new SqliteStore(SqliteConfig.of(own.resolve("template.db")), ground.clock()));
            mutant.engine().change(builder, new HttpTransport(AddressPolicy.fromConfig(List.of(), false)));
            try (Waybill publisher = builder.options(EngineOptions.DEFAULT.withCommitters(1)).open()) {
                scenarios.forEach(one -> publisher.sequences().publish("default", mutant.document().apply(one.document())));
            }
            workers.add(new Worker(ground, "w" + i, mutant, burials));
        }
    }

    /** A scenario with faults, to be tried. */
    record Task(Scenario scenario, List<Fault> faults) {}

    /** Each of the scenarios as it goes when nothing happens. */
    List<Outcome> clean(List<Scenario> scenarios) {
        return all(scenarios.stream().map(one -> new Task(one, List.of())).toList(), null);
    }

    /** A crash at each point of the clean run. */
    List<Outcome> singles(List<Outcome> clean) {
        List<Task> tasks = new ArrayList<>();
        for (Outcome one : clean) {
            points(one, 0).forEach(point -> tasks.add(new Task(one.scenario(), List.of(new Fault(point, Kind.CRASH)))));
        }
        return all(tasks, null);
    }

    /** A call that throws at each point of the clean run where a call can. */
    List<Outcome> errors(List<Outcome> clean, boolean postgres) {
        List<Task> tasks = new ArrayList<>();
        for (Outcome one : clean) {
            points(one, 0).stream()
                    .filter(point -> canThrow(point, postgres))
                    .forEach(point -> tasks.add(new Task(one.scenario(), List.of(new Fault(point, Kind.ERROR)))));
        }
        return all(tasks, null);
    }

    /** A statement of SQLite fails and has done nothing; only a COMMIT may have. */
    private static boolean canThrow(String point, boolean postgres) {
        if (point.startsWith("at:") || point.contains(":dial") || point.contains(":ROLLBACK")) {
            return false;
        }
        return postgres || point.startsWith("wire:") || point.endsWith(":before") || point.endsWith(":COMMIT:after");
    }

    /**
     * All ordered pairs: a second crash at each point that the recovery from the first one passed. In an order drawn from the seed, so that
     * any part of them is a sample.
     *
     * @param distinct leave out, first and second, what only repeats another one: dying inside a transaction is the same wherever in it,
     *                 and so is dying before a verb's first statement and after the one before it
     */
    static List<Task> pairs(List<Outcome> clean, List<Outcome> singles, boolean distinct, long seed) {
        Map<String, Set<String>> firsts = new HashMap<>();
        clean.forEach(one -> firsts.put(one.scenario().name(), kept(points(one, 0), distinct)));
        List<Task> tasks = new ArrayList<>();
        for (Outcome one : singles) {
            Fault first = one.faults().getFirst();
            if (one.points().size() > 1 && firsts.getOrDefault(one.scenario().name(), Set.of()).contains(first.point())) {
                kept(points(one, 1), distinct)
                        .forEach(point -> tasks.add(new Task(one.scenario(), List.of(first, new Fault(point, Kind.CRASH)))));
            }
        }
        // Points come up in the order of a clock; the order of the pairs is the seed's, so that a part of them can be named.
        tasks.sort(Comparator.comparing((Task task) -> task.scenario().name()).thenComparing(task -> task.faults().toString()));
        Collections.shuffle(tasks, new Random(seed));
        return tasks;
    }

    /** Of each verb of the store the points around its last statement, which commits it, and what is no statement of a verb. */
    private static Set<String> kept(LinkedHashSet<String> points, boolean distinct) {
        if (!distinct) {
            return points;
        }
        Map<String, Integer> last = new HashMap<>();
        points.forEach(point -> {
            Matcher statement = STATEMENT.matcher(point);
            if (statement.matches()) {
                last.merge(statement.group(1), Integer.parseInt(statement.group(2)), Math::max);
            }
        });
        return points.stream()
                .filter(point -> {
                    Matcher statement = STATEMENT.matcher(point);
                    return statement.matches()
                            ? Integer.valueOf(statement.group(2)).equals(last.get(statement.group(1)))
                            : !point.startsWith("connect#");
                })
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private static LinkedHashSet<String> points(Outcome outcome, int life) {
        return new LinkedHashSet<>(outcome.points().get(life));
    }

    /** @param limit no further task is begun after it; null = none */
    List<Outcome> all(List<Task> tasks, @Nullable Duration limit) {
        long began = System.nanoTime();
        AtomicInteger next = new AtomicInteger();
        List<Outcome> outcomes = Collections.synchronizedList(new ArrayList<>());
        try (ExecutorService threads = Executors.newFixedThreadPool(workers.size())) {
            List<Future<?>> running = new ArrayList<>();
            for (Worker worker : workers) {
                running.add(threads.submit(() -> {
                    for (int i = next.getAndIncrement(); i < tasks.size(); i = next.getAndIncrement()) {
                        if (limit != null && System.nanoTime() - began > limit.toNanos()) {
                            break;
                        }
                        outcomes.add(tried(worker, tasks.get(i)));
                    }
                    return true;
                }));
            }
            for (Future<?> one : running) {
                one.get();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("the lab broke", e.getCause());
        }
        List<Outcome> sorted = new ArrayList<>(outcomes);
        Map<Task, Integer> order = new HashMap<>();
        for (Task task : tasks) {
            order.putIfAbsent(task, order.size());
        }
        sorted.sort(Comparator.comparing(outcome -> order.get(new Task(outcome.scenario(), outcome.faults()))));
        return sorted;
    }

    private static Outcome tried(Worker worker, Task task) throws IOException, SQLException {
        Outcome outcome = null;
        for (int i = 0; i < TRIES && (outcome == null || (outcome.holds() && outcome.fired().contains(false))); i++) {
            outcome = worker.tried(task);
        }
        if (outcome == null) {
            throw new IllegalStateException("no try was made");
        }
        return outcome;
    }

    /** Where the trials of a worker share a database: what the checker says of it. Empty = every property holds. */
    List<String> books() {
        return workers.stream()
                .filter(worker -> !worker.ground.fresh())
                .flatMap(worker -> Books.check(worker.ground, worker.ledgers, worker.client, worker.strikes).stream())
                .toList();
    }

    @Override
    public void close() {
        burials.close();
        workers.forEach(Worker::close);
        try (var files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

package dev.waybill.lab.points;

import dev.waybill.EngineOptions;
import dev.waybill.Waybill;
import dev.waybill.json.Json;
import dev.waybill.operate.RunView;
import dev.waybill.store.Store;
import dev.waybill.test.Behaviour;
import dev.waybill.test.FakeProvider;
import dev.waybill.test.LedgerEntry;
import dev.waybill.test.Match;
import dev.waybill.test.Rule;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.HttpTransport;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * One scenario with at most one fault in each life of its engine: machine after machine on the same database until the run has come to
 * its end, then the verdict.
 */
final class Trial {
    private static final Duration STUCK = Duration.ofSeconds(45);
    /** What a run's end leaves to be done is done within this, if at all. */
    private static final Duration TAIL = Duration.ofMillis(200);

    private static final EngineOptions OPTIONS = EngineOptions.DEFAULT
            // Longer than any trial: a machine's end is proven, never waited for.
            .withLease(Duration.ofMinutes(10), Duration.ofMinutes(3))
            .withSendDeadline(Duration.ofMillis(Scenario.SEND_DEADLINE_MILLIS))
            .withDrain(Duration.ZERO)
            .withCommitters(1);

    private final Bench bench;
    private final Scenario scenario;
    private final List<Machine.Fault> faults;
    private final String order;
    private final Client client;
    private final List<Machine> machines = new ArrayList<>();
    private final List<UUID> nodes = new ArrayList<>();
    private final List<JsonNode> strikes = new ArrayList<>();
    private final List<Ground.Left> lefts = new ArrayList<>();
    private final List<CompletableFuture<Waybill>> engines = new ArrayList<>();
    private final List<Store> stores = new CopyOnWriteArrayList<>();

    /**
     * What trials of one worker share.
     *
     * @param connections that came to the provider so far
     * @param burials     where the threads of dead machines are let go
     */
    record Bench(
            Ground ground, FakeProvider provider, java.util.concurrent.atomic.AtomicLong connections, Mutant mutant, ExecutorService burials) {}

    /**
     * What a trial came to.
     *
     * @param fired  for each fault whether its point was reached
     * @param points of each life
     * @param lefts  what each crash left in the database
     * @param wrong  what must not be; empty = it holds
     * @param story  what became of effects and run, in one line
     */
    record Outcome(
            Scenario scenario, List<Machine.Fault> faults, List<Boolean> fired, List<List<String>> points, List<Ground.Left> lefts,
            @Nullable UUID run, String story, List<String> wrong) {
        boolean holds() {
            return wrong.isEmpty();
        }
    }

    /** @param order different for each trial of a worker */
    Trial(Bench bench, Scenario scenario, List<Machine.Fault> faults, String order) {
        this.bench = bench;
        this.scenario = scenario;
        this.faults = faults;
        this.order = order;
        this.client = new Client(scenario, bench.provider, bench.ground, bench.connections, order);
    }

    Outcome run() throws IOException, SQLException {
        bench.provider.reset();
        bench.provider.addRules(rules());
        bench.ground.begin();
        try {
            return live();
        } finally {
            bench.provider.releaseAll();
            machines.forEach(Machine::end);
            bench.burials.submit(this::bury);
        }
    }

    private List<Rule> rules() {
        return scenario.provider().entrySet().stream()
                .map(path -> Rule.on(Match.of("POST", path.getKey()))
                        .then(path.getValue().stream().map(Trial::behaviour).toArray(Behaviour[]::new)))
                .toList();
    }

    private static Behaviour behaviour(Scenario.Reply reply) {
        return switch (reply) {
            case NORMAL -> Behaviour.normal();
            case DECLINED -> Behaviour.answer(402);
            case DONE_THEN_RESET -> Behaviour.normal().sentAs(new Behaviour.Wire.Reset());
            case DONE_THEN_HELD -> Behaviour.pauseAfterBooking();
        };
    }

    private Outcome live() throws SQLException {
        for (int life = 0; life < faults.size() + 3; life++) {
            Machine machine = new Machine(life < faults.size() ? faults.get(life) : null);
            machines.add(machine);
            CompletableFuture<Waybill> engine = new CompletableFuture<>();
            engines.add(engine);
            CompletableFuture<RunView> seen = new CompletableFuture<>();
            String name = order + "-" + life;
            Thread.ofVirtual().name(Verbs.PEOPLE).start(() -> work(machine, name, engine, seen));
            RunView end;
            try {
                end = (RunView) CompletableFuture.anyOf(seen, machine.died()).thenApply(any -> any instanceof RunView view ? view : null)
                        .get(STUCK.toMillis(), TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                return outcome("stuck", List.of("nothing came to an end within " + STUCK));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            } catch (ExecutionException e) {
                if (engine.isDone() && !engine.isCompletedExceptionally()) {
                    return outcome("refused", List.of("a client met " + e.getCause()));
                }
                end = null; // the engine did not open, because a call failed: somebody starts it again
                machine.end();
            }
            if (end != null && machine.fault() != null && !machine.fired()) {
                end = tail(machine) ? null : end;
            }
            if (end != null && !machine.calm()) {
                machine.died().join(); // after its last word
                end = null;
            }
            if (end != null) {
                try {
                    return verdict(engine.join(), end);
                } catch (dev.waybill.store.StoreException e) {
                    return outcome("unreadable", List.of("the engine cannot read its store any more: " + e));
                }
            }
            struck(name, machine);
        }
        return outcome("stuck", List.of("no engine lived"));
    }

    /** Whether the machine dies after the end of the run. */
    private static boolean tail(Machine machine) {
        try {
            return machine.died().get(TAIL.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return false;
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    private void work(Machine machine, String name, CompletableFuture<Waybill> engine, CompletableFuture<RunView> seen) {
        try {
            engine.complete(open(machine, name));
            seen.complete(client.see(engine.join()));
        } catch (RuntimeException | Error e) {
            engine.completeExceptionally(e);
            seen.completeExceptionally(e);
        }
    }

    private Waybill open(Machine machine, String name) {
        Verbs verbs = new Verbs(machine, bench.ground);
        Store raw = bench.ground.open(machine, verbs);
        stores.add(raw);
        Store store = bench.mutant.store().apply(verbs.over(raw));
        try {
            bench.ground.toFence(List.copyOf(nodes)).forEach(store::fence);
        } catch (RuntimeException e) {
            store.close();
            throw e;
        }
        HttpTransport transport = new HttpTransport(
                AddressPolicy.fromConfig(List.of("127.0.0.1:" + bench.provider.port()), false), new WireTap(machine, bench.connections));
        Waybill.Builder builder = Waybill.store(store).options(OPTIONS).nodeName(name).crashPoints(machine).transport(transport);
        bench.mutant.engine().change(builder, transport);
        machine.onDeath(() -> nodes.addAll(verbs.nodes()));
        return builder.open();
    }

    private void struck(String name, Machine machine) throws SQLException {
        Instant now = bench.ground.clock().instant();
        strikes.add(Json.NODES.objectNode().put("at", now.toString()).put("until", now.toString()).put("kind", "kill").put("node", name));
        String point = machine.fault() == null ? "" : machine.fault().point();
        lefts.add(point.startsWith("claim-") ? bench.ground.left() : new Ground.Left(0, 0));
        // What it held open is closed: whoever waits at the provider gets on.
        bench.provider.releaseAll();
    }

    private Outcome verdict(Waybill engine, RunView end) throws SQLException {
        Verdict verdict = Verdict.of(scenario, engine, end, bench.provider, order);
        List<String> wrong = new ArrayList<>(verdict.wrong());
        if (bench.ground.fresh()) {
            machines.getLast().end(); // and with it the file as it is
            List<LedgerEntry> ledger = bench.provider.ledger();
            Path part = Books.part(bench.ground, bench.provider.ledgerPath(), ledger.isEmpty() ? Long.MAX_VALUE : ledger.getFirst().seq());
            Books.check(bench.ground, List.of(part), client.journal(), strikes).ifPresent(wrong::add);
        }
        return outcome(verdict.story(), wrong);
    }

    private Outcome outcome(String story, List<String> wrong) {
        return new Outcome(
                scenario, faults, machines.stream().filter(machine -> machine.fault() != null).map(Machine::fired).toList(),
                machines.stream().map(Machine::points).toList(), List.copyOf(lefts), client.run(), story, List.copyOf(wrong));
    }

    List<JsonNode> clientJournal() {
        return client.journal();
    }

    List<JsonNode> strikes() {
        return List.copyOf(strikes);
    }

    /** Lets the threads go, then gives back what they held: threads, files, connections. */
    private void bury() {
        machines.forEach(Machine::bury);
        for (CompletableFuture<Waybill> engine : engines) {
            try {
                engine.join().close();
            } catch (RuntimeException | Machine.Killed e) {
                // It never opened, or the dead cannot sign off.
            }
        }
        stores.forEach(Store::close);
    }
}

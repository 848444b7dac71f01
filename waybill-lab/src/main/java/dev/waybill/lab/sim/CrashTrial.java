package dev.waybill.lab.sim;

import dev.waybill.EngineOptions;
import dev.waybill.check.Verdict;
import dev.waybill.engine.EngineRuntime;
import dev.waybill.engine.SequenceCache;
import dev.waybill.handler.Handlers;
import dev.waybill.json.SecretSource;
import dev.waybill.lab.points.Scenario;
import dev.waybill.lab.sim.Fault.Kind;
import dev.waybill.lab.sim.SimNode.Desks;
import dev.waybill.operate.EffectDesk;
import dev.waybill.operate.RunDesk;
import dev.waybill.operate.SequenceCatalog;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.Queries.InstanceFilter;
import dev.waybill.store.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * A canonical scenario on one engine in simulated time that dies wherever it is told to and is started again on what the database holds.
 * Each boundary is deadly at most once, the first time that it is passed. The schedule is the same in every trial, so that the deadly
 * boundaries decide everything.
 */
public final class CrashTrial {
    static final String TENANT = "default";
    private static final long S = 1_000_000_000L;
    private static final long MS = 1_000_000L;
    private static final long BOUND = 600 * S;

    private final World world = new World(new SplittableRandom(1), false);
    private final List<String> violations = new ArrayList<>();
    private final Cluster cluster = new Cluster(world, new SplittableRandom(2), violations);
    private final SplittableRandom random = new SplittableRandom(3);
    private final Scenario scenario;
    private final Predicate<String> deadly;
    private final SimProvider provider;
    private final CrashPeople people;
    private final Set<String> passed = new LinkedHashSet<>();
    private World.Process process = new World.Process("n1");
    private @Nullable Desks desks;
    private @Nullable UUID incarnation;
    private int crashes;

    /**
     * What a trial came to.
     *
     * @param passed  every boundary in the order in which it was first passed
     * @param crashes how many of them were deadly
     * @param story   receipts with deliveries and applications, then the run
     * @param wrong   what must not be; empty = it holds
     * @param hash    of everything that happened
     */
    public record Outcome(List<String> passed, int crashes, String story, List<String> wrong, long hash) {
        public boolean holds() {
            return wrong.isEmpty();
        }
    }

    private CrashTrial(Scenario scenario, Predicate<String> deadly) {
        this.scenario = scenario;
        this.deadly = deadly;
        List<Fault> replies = scenario.provider().values().stream()
                .map(List::getFirst)
                .filter(reply -> reply == Scenario.Reply.DECLINED || reply == Scenario.Reply.DONE_THEN_RESET)
                // In every scenario the path with a reply of its own is the first to be asked.
                .map(reply -> new Fault("provider", 1, reply == Scenario.Reply.DECLINED ? Kind.SAY_402 : Kind.APPLY_HANG_UP, 0))
                .toList();
        Plan plan = new Plan(new SplittableRandom(4), replies);
        this.provider = new SimProvider(world, plan, new Tally(), cluster::stateOf, violations, false);
        this.people = new CrashPeople(world, scenario, provider, () -> process, () -> desks);
        new SequenceCatalog(cluster.store().sequences(), () -> new UUID(0x7000, 1), handler -> true).publish(TENANT, scenario.document());
    }

    /** Runs it; from any thread, on one of its own. */
    public static Outcome run(Scenario scenario, Predicate<String> deadly) {
        return Simulation.alone(() -> new CrashTrial(scenario, deadly).run());
    }

    private Outcome run() {
        start();
        people.start();
        try {
            if (!world.run(people::done, BOUND)) {
                violations.add("nothing came to an end within " + BOUND / S + " s; " + state());
            }
            world.run(() -> false, S); // what a run's end leaves to be done, and what comes late
        } catch (RuntimeException e) {
            violations.add("the simulation died: " + e + (e.getCause() == null ? "" : " " + e.getCause()));
        }
        String story = judged();
        return new Outcome(List.copyOf(passed), crashes, story, List.copyOf(violations), world.hash());
    }

    private void at(World.Process own, String point) {
        if (own == process && passed.add(point) && deadly.test(point)) {
            crashes++;
            cluster.struck(new Fault(point, 1, Kind.CRASH, 0), own.name, 0);
            world.note(own.name, "dies at " + point);
            desks = null;
            people.gone();
            world.after(MS, this::start);
            world.kill(own);
        }
    }

    private void start() {
        World.Process own = new World.Process("n1");
        process = own;
        world.thread(own, "boot", () -> boot(own)).start();
    }

    /** As {@code Waybill} wires it, and as a restart that proves its former process dead by its own lock. */
    private void boot(World.Process own) {
        Store store = CrashRoad.of(world, own, cluster, this::at);
        SplittableRandom drawn = random.split();
        long[] last = {0};
        java.util.function.Supplier<UUID> ids = () -> new UUID(0x7000L | (drawn.nextLong() << 16), ++last[0] | 0x8000_0000_0000_0000L);
        Handlers handlers = new Handlers(new CrashWire(world, own, provider, this::at, people::holdsTheAnswer), world::instant);
        SequenceCache sequences = new SequenceCache(store.sequences(), SequenceCatalog::parse);
        if (incarnation != null) {
            store.fence(incarnation);
        }
        EngineRuntime engine = new EngineRuntime(
                new SimHost(world, own), store, EngineOptions.DEFAULT.withCommitters(1), name -> handlers.find(name).orElse(null),
                SecretSource.NONE, sequences, ids, drawn.split(), world::instant, new Tally(), (point, instance, path) -> {}, "n1",
                fresh -> incarnation = fresh, null);
        RunDesk runs = new RunDesk(store, engine, sequences, ids);
        desks = new Desks(engine, runs, new EffectDesk(store, engine, runs, ids));
    }

    // --- the verdict -----------------------------------------------------------------------------------------------------------

    private List<InstanceRecord> runs() {
        return cluster.store().queries().instances(new InstanceFilter(TENANT, Set.of(), null, Map.of(), null, 100, 0));
    }

    private String state() {
        return runs().stream().map(run -> run.state().wire() + " " + run.reasons()).toList().toString();
    }

    private String judged() {
        if (runs().size() != 1) {
            violations.add("the key started " + runs().size() + " runs");
            return "no single run";
        }
        InstanceRecord run = runs().getFirst();
        if (!run.state().wire().equals(scenario.end())) {
            violations.add("the run is " + state() + ", it should be " + scenario.end());
        }
        scenario.applied().forEach((path, bounds) -> {
            int applied = count("apply", "path", path);
            if (applied < bounds.least() || applied > bounds.most()) {
                violations.add(path + " was done " + applied + " times, it should be " + bounds.least() + ".." + bounds.most());
            }
        });
        Verdict verdict = Verdict.of(
                provider.ledger(), List.of(Dumped.of(cluster.store(), world.instant())), people.journal(), cluster.faults(),
                Duration.ofMillis(5), true);
        if (!verdict.clean()) {
            violations.add("the checker: " + verdict.violated() + "\n" + verdict.text());
        }
        StringBuilder story = new StringBuilder();
        EffectFilter all = new EffectFilter(
                TENANT, false, Set.of(), run.key(), null, null, null, null, null, null, null, null, null, null, null, null, null, null, 100);
        cluster.store().queries().effects(all).stream()
                .sorted(Comparator.comparing((EffectView one) -> one.receipt().path()).thenComparing(one -> one.receipt().attempt()))
                .forEach(one -> {
                    String id = one.receipt().id().toString();
                    int delivered = count("delivery", "effect_id", id);
                    int applied = count("apply", "effect_id", id);
                    if (one.state().unresolved() || one.state().applied() != (applied == 1)) {
                        violations.add(one.receipt().path() + "#" + one.receipt().attempt() + " is " + one.state().wire() + ", but was done " + applied + " times");
                    }
                    story.append(one.receipt().path()).append(' ').append(one.state().wire()).append(' ').append(delivered).append('/')
                            .append(applied).append(", ");
                });
        return story.append(run.state().wire()).toString();
    }

    private int count(String kind, String member, String value) {
        int count = 0;
        for (ObjectNode line : provider.ledger()) {
            if (line.path("kind").asString().equals(kind) && line.path(member).asString("").equals(value)) {
                count++;
            }
        }
        return count;
    }
}

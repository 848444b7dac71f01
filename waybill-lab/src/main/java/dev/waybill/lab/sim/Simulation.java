package dev.waybill.lab.sim;

import dev.waybill.EngineOptions;
import dev.waybill.check.Verdict;
import dev.waybill.lab.program.Actual;
import dev.waybill.lab.program.Expected;
import dev.waybill.lab.program.Options;
import dev.waybill.lab.program.Program;
import dev.waybill.lab.sim.Fault.Kind;
import dev.waybill.model.InstanceState;
import dev.waybill.operate.SequenceCatalog;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.InstanceFilter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletableFuture;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * One seed, one history: engines, store, network, provider and people in one world, first with faults, then without, then the checker.
 * Everything it needs is made here and nothing is kept: it may run on many threads, and from a class loader of its own.
 */
public final class Simulation {
    private static final long S = 1_000_000_000L;
    private static final long MS = 1_000_000L;
    /** All is quiet so long after the faults (safety), or so long with what is left (liveness). */
    private static final long SAFETY_BOUND = 240 * S;

    private static final long LIVENESS_BOUND = 300 * S;
    /** Generated programs are drawn from so many. */
    private static final long PROGRAMS = 1_000_000;

    private static final Options GENERATED =
            Options.of("http_request", SimTransport.ADDRESS + "/do").underFaults().ending().timed(2_000, 6_500).sized(8, 3, 12);

    /** Of the checker's properties: what holds although the database has lost commits that it had answered. */
    private static final Set<String> WEAK_PROMISE = Set.of("one-delivery", "once-per-effect", "legal-moves", "gapless-journal");

    private final SimOptions options;
    private final List<String> violations = new ArrayList<>();
    private final Tally tally = new Tally();
    private final World world;
    private final Plan plan;
    private final Cluster cluster;
    private final SimProvider provider;
    private final SplittableRandom work;
    /** What steps declare so that unknown effects heal; null = nothing. */
    private final @Nullable SplittableRandom healing;
    private final SplittableRandom nemesis;
    private final List<SimNode> nodes = new ArrayList<>();
    private final List<Client> clients = new ArrayList<>();
    private final Map<String, Program> programsByRun = new HashMap<>();
    private final World.Process outside = new World.Process("people");
    private final Callers callers;
    private final long healAt;
    /** The standby is asynchronous and will be promoted; the engine lives on, for only it remembers what the database has lost. */
    private final boolean behind;

    private Simulation(SimOptions options) {
        this.options = options;
        SplittableRandom root = new SplittableRandom(options.seed());
        this.world = new World(root.split(), options.charted());
        List<String> given = options.faults();
        this.plan = new Plan(
                root.split(), given == null ? null : given.stream().map(Fault::parse).filter(Objects::nonNull).toList());
        this.cluster = new Cluster(world, root.split(), violations);
        this.work = root.split();
        this.nemesis = root.split();
        this.callers = new Callers(world, outside, nodes, root.split());
        this.healAt = work.nextLong(5 * S, 40 * S);
        boolean scripted = work.nextBoolean();
        // Of its own randomness, so that what other worlds draw does not depend on it.
        SplittableRandom healing = new SplittableRandom(~options.seed());
        boolean heals = !scripted && healing.nextInt(3) > 0;
        this.healing = heals ? healing : null;
        if (heals) {
            List.of(Kind.LOOK_LAGS, Kind.LOOK_DOWN, Kind.LOOK_503, Kind.LOOK_404).forEach(kind -> plan.draw(kind, healing));
        }
        this.provider = new SimProvider(world, plan, tally, cluster::stateOf, violations, heals);
        EngineOptions engine = engine(work);
        boolean fencesItself = work.nextBoolean();
        int size = 1 + work.nextInt(3);
        this.behind = size == 1 && work.nextInt(3) == 0 && !options.liveness();
        if (behind) {
            Set.of(Kind.CRASH, Kind.DIE, Kind.KILL, Kind.DRAIN).forEach(kind -> plan.set(kind, 0));
            provider.weak();
        }
        for (int i = 0; i < size; i++) {
            nodes.add(new SimNode("n" + (i + 1), world, cluster, plan, tally, provider, engine, root.split(), fencesItself, scripted));
        }
        publish(scripted);
    }

    /** Runs it once. */
    public static SimResult run(SimOptions options) {
        return alone(() -> new Simulation(options).run(true));
    }

    /**
     * On a thread of its own that is then thrown away: virtual threads of killed engines stay mounted nowhere for ever, and a thread that
     * carried them was seen to wait for a monitor that it held itself (JDK 25).
     */
    static <T> T alone(Supplier<T> work) {
        CompletableFuture<T> done = new CompletableFuture<>();
        Thread.ofPlatform().name("waybill-simulation").daemon(true).start(() -> {
            try {
                done.complete(work.get());
            } catch (RuntimeException | Error e) {
                done.completeExceptionally(e);
            }
        });
        try {
            return done.join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : e;
        }
    }

    /** Runs it and only says what {@link SimResult#hash} would be: for the second time, when the first was judged. */
    public static long hash(long seed, boolean liveness, @Nullable List<String> faults) {
        return alone(() -> new Simulation(new SimOptions(seed, liveness, faults, false)).run(false).hash());
    }

    /**
     * The same by values of the JDK alone, for a caller in another class loader.
     *
     * @param faults see {@link SimOptions}; null = those of the seed
     * @return the components of {@link SimResult} by name, less the options
     */
    public static Map<String, Object> report(long seed, boolean liveness, @Nullable List<String> faults, boolean charted) {
        SimResult result = run(new SimOptions(seed, liveness, faults, charted));
        return Map.of(
                "hash", result.hash(), "violations", result.violations(), "faults", result.faults(), "reached", result.reached(), "steps",
                result.steps(), "seconds", result.seconds(), "chart", result.chart());
    }

    private static EngineOptions engine(SplittableRandom random) {
        EngineOptions options = EngineOptions.DEFAULT.withCommitters(1 + random.nextInt(2));
        return switch (random.nextInt(3)) {
            case 0 -> options;
            case 1 -> options.withLease(Duration.ofSeconds(6), Duration.ofSeconds(2));
            default -> options.withLease(Duration.ofSeconds(3), Duration.ofSeconds(1));
        };
    }

    private void publish(boolean scripted) {
        Programs programs = new Programs(work.split(), healing);
        SplittableRandom ids = work.split();
        SequenceCatalog catalog = new SequenceCatalog(
                cluster.store().sequences(), () -> new UUID(ids.nextLong(), ids.nextLong()), handler -> true);
        int count = 1 + work.nextInt(3);
        for (int i = 0; scripted && i < count; i++) {
            Program program = Program.of(work.nextLong(PROGRAMS), GENERATED);
            String order = "order-" + i;
            catalog.publish("default", program.document());
            provider.play(order, program.script());
            clients.add(new Client(callers, tally, work.split(), program.name(), order, program.data(order)));
            programsByRun.put(order, program);
        }
        if (scripted) {
            return;
        }
        for (int i = 0; i < count; i++) {
            ObjectNode document = programs.document("program-" + i, work.nextInt(Programs.SHAPES));
            SplittableRandom declared = healing;
            if (declared != null && declared.nextInt(4) == 0) {
                document = programs.guarded("program-" + i, declared.nextBoolean());
            }
            catalog.publish("default", document);
        }
        int runs = 2 + work.nextInt(4);
        for (int i = 0; i < runs; i++) {
            String order = "order-" + i;
            clients.add(new Client(callers, tally, work.split(), "program-" + work.nextInt(count), order, Programs.data(order)));
        }
    }

    private SimResult run(boolean judged) {
        try {
            nodes.forEach(node -> {
                node.start();
                node.supervise();
            });
            clients.forEach(client -> client.start(healAt));
            new Person(
                            callers, world, provider, tally, work.split(),
                            Duration.ofMillis(healing == null ? 100 : 100 + healing.nextLong(50_000)),
                            () -> world.nanos() >= healAt && clients.stream().allMatch(Client::done))
                    .start();
            callers.actor("nemesis", this::nemesis);
            if (behind) {
                callers.actor("standby", this::standby);
            }
            world.run(() -> false, healAt);
            heal();
            boolean quiet = world.run(this::quiet, options.liveness() ? LIVENESS_BOUND : SAFETY_BOUND);
            if (!quiet) {
                violations.add("not quiet " + (world.nanos() - healAt) / S + " s after the last fault: " + open());
            }
            world.run(() -> false, 2 * S); // what comes late comes now
            if (judged) {
                judge();
            }
        } catch (RuntimeException e) {
            Throwable root = e;
            while (root.getCause() != null) {
                root = root.getCause();
            }
            StackTraceElement at = root.getStackTrace().length == 0 ? null : root.getStackTrace()[0];
            violations.add("the simulation died: " + e.getMessage() + ": " + root + " at " + at);
        }
        return new SimResult(
                options, world.hash(), List.copyOf(violations), plan.fired().stream().map(Fault::toString).toList(), tally.counts(),
                world.steps(), world.nanos() / 1e9, world.chart());
    }

    private void nemesis() {
        while (world.nanos() < healAt) {
            callers.pause(nemesis.nextLong(300 * MS, 4 * S));
            SimNode node = nodes.get(nemesis.nextInt(nodes.size()));
            Fault fault = plan.at(
                    "nemesis", Kind.KILL, Kind.FREEZE, Kind.DRAIN, Kind.CUT_STORE, Kind.STORE_DOWN, Kind.DISK_FULL, Kind.CLOCK_JUMP,
                    Kind.FAILOVER);
            if (fault != null) {
                tally.add("nemesis " + fault.kind().name().toLowerCase(java.util.Locale.ROOT));
                strike(node, fault);
            }
        }
    }

    private void standby() {
        while (world.nanos() < healAt) {
            callers.pause(nemesis.nextLong(500 * MS, 15 * S));
            cluster.lag();
            callers.pause(nemesis.nextLong(5 * MS, 3 * S));
            Fault fault = plan.at("standby", Kind.FAILOVER_BEHIND);
            if (fault != null) {
                note(fault, null);
                tally.add(cluster.failoverBehind(fault.nanos()) ? "failover behind" : "failover that lost nothing");
            }
        }
    }

    private void strike(SimNode node, Fault fault) {
        switch (fault.kind()) {
            case KILL -> node.crash(fault, "");
            case FREEZE -> node.freeze(fault);
            case DRAIN -> node.drain(fault);
            case CLOCK_JUMP -> node.jump(fault);
            case CUT_STORE -> {
                note(fault, node.name);
                cluster.cut(node.process(), fault.nanos());
            }
            case STORE_DOWN -> {
                note(fault, null);
                cluster.down(fault.nanos());
            }
            case DISK_FULL -> {
                note(fault, null);
                cluster.full(fault.nanos());
            }
            case FAILOVER -> {
                note(fault, null);
                cluster.failover(fault.nanos());
            }
            default -> throw new IllegalStateException("the nemesis has no " + fault.kind());
        }
    }

    private void note(Fault fault, @Nullable String node) {
        cluster.struck(fault, node, fault.nanos());
        world.note("nemesis", fault + (node == null ? "" : " " + node));
    }

    private void heal() {
        world.note("nemesis", "calm");
        plan.heal();
        cluster.heal();
        int core = options.liveness() ? nemesis.nextInt(nodes.size()) : -1;
        for (int i = 0; i < nodes.size(); i++) {
            SimNode node = nodes.get(i);
            if (core < 0 || i == core) {
                world.wake(node.process());
            } else if (nemesis.nextBoolean()) {
                node.stop();
            } else {
                world.freeze(node.process(), Long.MAX_VALUE / 4);
                node.abandon();
            }
        }
        cluster.calm();
    }

    private List<InstanceRecord> instances() {
        return cluster.store().queries().instances(new InstanceFilter(InstanceFilter.ALL_TENANTS, Set.of(), null, Map.of(), null, 10_000, 0));
    }

    private long nextLook;
    private boolean wasQuiet;

    private boolean quiet() {
        if (world.nanos() < nextLook) {
            return wasQuiet;
        }
        nextLook = world.nanos() + 500 * MS;
        wasQuiet = open().isEmpty();
        return wasQuiet;
    }

    /** What has not come to its end. */
    private List<String> open() {
        List<String> open = new ArrayList<>();
        clients.stream().filter(client -> !client.done()).forEach(client -> open.add("a client waits"));
        for (InstanceRecord run : instances()) {
            if (!run.state().terminal()) {
                open.add("run " + run.key().id() + " is " + run.state().wire() + " " + run.reasons());
            } else if (run.state() == InstanceState.FAILED && run.outcome() == null) {
                open.add("run " + run.key().id() + " failed and says nothing");
            }
        }
        EffectFilter queue = new EffectFilter(
                "default", true, Set.of(), null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, 1_000);
        cluster.store().queries().effects(queue).forEach(effect -> open.add("effect " + effect.receipt().id() + " is " + effect.state().wire()));
        if (!behind) {
            open.addAll(cluster.forgotten());
        }
        return open;
    }

    private void judge() {
        if (!behind) {
            cluster.nothingForgotten();
        }
        List<ObjectNode> dump = Dumped.of(cluster.store(), world.instant());
        dump.stream().filter(line -> line.path("reason").asString("").equals("send_deadline_passed")).forEach(_ -> tally.add("last look too late"));
        for (Client client : behind ? List.<Client>of() : clients) {
            Program program = programsByRun.get(client.key());
            UUID run = client.run();
            if (program != null && run != null && !client.meddled()) {
                Actual actual = Actual.of(dump, run.toString(), client.key(), at -> provider.applied(client.key(), at));
                program.expected()
                        .check(actual, Expected.Rigour.UNDER_FAULTS)
                        .forEach(difference -> violations.add("run " + run + " of " + program.name() + ": " + difference));
                tally.add("programs " + actual.state() + " as computed");
            }
        }
        instances().stream()
                .filter(run -> String.valueOf(run.outcome()).contains("INVARIANT_VIOLATION"))
                .forEach(run -> tally.add("content refused as a duplicate"));
        Verdict verdict = Verdict.of(
                provider.ledger(), List.of(dump), callers.journal(), cluster.faults(),
                Duration.ofMillis(5), true);
        // What was answered and then lost by the database is lost: its weaker promise. That nothing is done twice holds all the same.
        if (behind ? verdict.violated().stream().anyMatch(WEAK_PROMISE::contains) : !verdict.clean()) {
            violations.add("the checker: " + verdict.violated() + "\n" + verdict.text());
        }
    }
}

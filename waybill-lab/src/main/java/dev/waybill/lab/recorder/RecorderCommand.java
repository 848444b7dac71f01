package dev.waybill.lab.recorder;

import dev.waybill.json.Json;
import dev.waybill.lab.crash.LabEngine;
import dev.waybill.lab.recorder.SlowProvider.Seen;
import dev.waybill.test.Processes;
import dev.waybill.test.TestPostgres;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * {@code ./waybill lab recorder}: kills an engine at random moments under load and holds what is unknown afterwards against what the
 * provider saw. Needless is an unknown of which nothing arrived, or whose whole answer was with the kernel before the kill; the target is
 * at most 1 % of what was in flight (reliability.md, L8).
 */
@Command(
        name = "recorder",
        mixinStandardHelpOptions = true,
        description = "Random kill -9 under load; the share of unknowns that nobody needed. Exit 0: at most 1 %, and no false word.")
public final class RecorderCommand implements Callable<Integer> {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final double TARGET = 0.01;
    private static final int WARM_STEPS = 40;
    private static final List<String> JVM = List.of(
            "-Xmx256m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Dlogback.configurationFile=lab-logback.xml");

    @Spec
    private CommandSpec spec;

    @Option(names = "--kills", defaultValue = "200", description = "default: ${DEFAULT-VALUE}")
    private int kills;

    @Option(names = "--runs", defaultValue = "16", description = "runs started before each kill, two steps each (default: ${DEFAULT-VALUE})")
    private int runs;

    @Option(names = "--answer-ms", defaultValue = "1000", description = "the provider answers after up to this long (default: ${DEFAULT-VALUE})")
    private long answerMillis;

    @Option(names = "--store", defaultValue = "sqlite", description = "sqlite or postgres, a temporary one (default: ${DEFAULT-VALUE})")
    private String store;

    @Option(names = "--no-recorder", description = "without the flight recorder, for comparison")
    private boolean without;

    @Option(names = "--minutes", defaultValue = "30", description = "stop killing after this long (default: ${DEFAULT-VALUE})")
    private double minutes;

    @Option(names = "--seed", description = "default: the clock")
    private @Nullable Long seed;

    private final InstantSource clock = InstantSource.system();
    private final Tally tally = new Tally();
    private double noteMicros;

    /** What became of the effects that a kill found in flight. */
    private static final class Tally {
        int kills;
        int inFlight;
        int notSent;
        int answered;
        int unknown;
        int neverArrived;
        int answerWritten;
        int killsWithNeedless;
        int falseWords;
        int sentTwice;
        /** How long before the kill those answers were written. */
        final List<Double> millisBefore = new ArrayList<>();

        String before() {
            return millisBefore.isEmpty()
                    ? ""
                    : " this many ms before the kill: "
                            + String.join(", ", millisBefore.stream().sorted().map(ms -> String.format(Locale.ROOT, "%.1f", ms)).toList());
        }

        int needless() {
            return neverArrived + answerWritten;
        }
    }

    /** One engine process. */
    private static final class Engine implements AutoCloseable {
        private final Processes.Child child;
        private int asked;

        Engine(List<String> arguments) {
            child = Processes.java(LabEngine.class, JVM, arguments);
            child.awaitLine(line -> line.startsWith("READY "), PATIENCE);
        }

        int send(String what, Consumer<ObjectNode> more) {
            ObjectNode request = Json.NODES.objectNode().put("id", ++asked).put("do", what);
            more.accept(request);
            child.send(Json.write(request));
            return asked;
        }

        JsonNode answer(int id) {
            String start = "= {\"id\":" + id + ",";
            JsonNode answer = Json.parseDefinition(child.awaitLine(line -> line.startsWith(start), PATIENCE).substring(2));
            if (!answer.has("ok")) {
                throw new IllegalStateException(answer.toString());
            }
            return answer.path("ok");
        }

        JsonNode ask(String what, Consumer<ObjectNode> more) {
            return answer(send(what, more));
        }

        @Override
        public void close() {
            child.close();
        }
    }

    @Override
    public Integer call() throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        long chosen = seed != null ? seed : clock.millis();
        Random random = new Random(chosen);
        Path directory = Files.createTempDirectory("waybill-recorder-");
        TestPostgres.Database database = store.equals("postgres") ? TestPostgres.database() : null;
        out.println("recorder: store " + store + (without ? ", WITHOUT the recorder" : "") + ", seed " + chosen);
        out.flush();
        try (SlowProvider provider = new SlowProvider(new Random(random.nextLong()), Duration.ofMillis(answerMillis))) {
            List<String> arguments = new ArrayList<>(List.of(
                    "--store", database == null ? "sqlite:" + directory.resolve("waybill.db") : database.waybillUrl(),
                    "--node-directory", directory.resolve("node").toString(), "--allow", "127.0.0.1:" + provider.port()));
            if (without) {
                arguments.add("--no-recorder");
            }
            long until = System.nanoTime() + (long) (minutes * 60e9);
            Engine engine = new Engine(arguments);
            try {
                for (JsonNode document : documents(provider.port())) {
                    engine.ask("publish", it -> it.set("document", document));
                }
                for (int kill = 1; kill <= kills && System.nanoTime() < until; kill++) {
                    List<String> ids = load(engine, kill, random);
                    long killed = System.nanoTime();
                    engine.child.kill();
                    engine.close();
                    engine = new Engine(arguments);
                    judge(engine, ids, provider, killed);
                    if (kill % 20 == 0) {
                        out.printf(Locale.ROOT, "  %d kills, %d in flight, %d unknown, needless: %d never arrived, %d answered%s%n", kill, tally.inFlight,
                                tally.unknown, tally.neverArrived, tally.answerWritten, tally.before());
                        out.flush();
                    }
                }
            } finally {
                engine.close();
            }
            noteMicros = NoteCost.microsPerStep(directory.resolve("notes"));
            provider.seen().values().forEach(one -> tally.sentTwice += one.deliveries.get() > 1 ? 1 : 0);
        } finally {
            if (database != null) {
                database.drop();
            }
            try (var files = Files.walk(directory)) {
                files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
        }
        return report(out);
    }

    private static List<JsonNode> documents(int port) {
        String step = "{'type':'step','id':'ID','handler':'http_request','timeout':60000,'params':{'method':'POST','url':'http://127.0.0.1:"
                + port + "/ID','body':{'order':'{{ data.order }}'}}}";
        String pay = "{'name':'pay','blocks':[" + step.replace("ID", "charge") + "," + step.replace("ID", "ship") + "]}";
        String warm = "{'name':'warm','blocks':[{'type':'for_each','id':'again','collection':'{{ data.items }}','body':["
                + step.replace("ID", SlowProvider.AT_ONCE) + "]}]}";
        return List.of(Json.parseDefinition(pay.replace('\'', '"')), Json.parseDefinition(warm.replace('\'', '"')));
    }

    /**
     * Starts runs over a while and returns at a random moment of it; every one was acknowledged. Before them go some steps that are
     * answered at once, so that what is measured is an engine at work and not the loading of its classes.
     */
    private List<String> load(Engine engine, int kill, Random random) {
        String first = engine.ask("start", it -> {
            ObjectNode data = it.put("name", "warm").putObject("data").put("order", kill);
            for (int i = 0; i < WARM_STEPS; i++) {
                data.withArray("items").add(i);
            }
        }).asString();
        engine.ask("await", it -> it.put("run", first).put("millis", PATIENCE.toMillis()));
        List<Integer> starts = new ArrayList<>();
        long spread = Duration.ofMillis(answerMillis).toNanos();
        for (int i = 0; i < runs; i++) {
            String order = kill + "-" + i;
            starts.add(engine.send("start", it -> it.put("name", "pay").putObject("data").put("order", order)));
            LockSupport.parkNanos(random.nextLong(2 * spread / runs));
        }
        List<String> ids = new ArrayList<>();
        starts.forEach(start -> ids.add(engine.answer(start).asString()));
        LockSupport.parkNanos(random.nextLong(Math.max(1, spread / 2)));
        return ids;
    }

    private void judge(Engine engine, List<String> ids, SlowProvider provider, long killed) {
        tally.kills++;
        int before = tally.needless();
        for (String id : ids) {
            engine.ask("await", it -> it.put("run", id).put("millis", PATIENCE.toMillis() / 2));
            for (JsonNode effect : engine.ask("effects", it -> it.put("run", id))) {
                judge(effect, provider.seen().get(effect.path("id").asString()), killed);
            }
        }
        tally.killsWithNeedless += tally.needless() > before ? 1 : 0;
    }

    private void judge(JsonNode effect, @Nullable Seen seen, long killed) {
        JsonNode first = effect.path("journal").path(0);
        String to = first.path("to").asString("");
        boolean recorded = first.path("actor").asString("").equals("recorder");
        boolean unknown = to.equals("unknown") && first.path("actor").asString("").equals("recovery");
        if (!recorded && !unknown) {
            return; // the engine itself had settled it, or a later one sent it
        }
        tally.inFlight++;
        if (recorded) {
            boolean sent = !to.equals("not_applied");
            tally.notSent += sent ? 0 : 1;
            tally.answered += sent ? 1 : 0;
            tally.falseWords += sent == (seen == null) ? 1 : 0;
            return;
        }
        tally.unknown++;
        if (seen == null) {
            tally.neverArrived++;
        } else if (seen.answeredNanos != 0 && seen.answeredNanos < killed) {
            tally.answerWritten++;
            tally.millisBefore.add((killed - seen.answeredNanos) / 1e6);
        }
    }

    private int report(PrintWriter out) {
        double share = tally.inFlight == 0 ? 0 : tally.needless() / (double) tally.inFlight;
        out.println();
        line(out, "kill -9", tally.kills);
        line(out, "effects in flight at a kill", tally.inFlight);
        line(out, "  recorder: nothing was sent, sent by itself afterwards", tally.notSent);
        line(out, "  recorder: the answer was there", tally.answered);
        line(out, "  unknown", tally.unknown);
        line(out, "    on the wire or at the provider: nobody could know", tally.unknown - tally.needless());
        line(out, "    needless: nothing had arrived", tally.neverArrived);
        line(out, "    needless: the whole answer was already written", tally.answerWritten);
        if (!tally.millisBefore.isEmpty()) {
            out.println("     " + tally.before());
        }
        line(out, "kills that left a needless unknown", tally.killsWithNeedless);
        line(out, "receipts sent twice", tally.sentTwice);
        line(out, "words of the recorder that the provider contradicts", tally.falseWords);
        out.printf(Locale.ROOT, "  %-62s %8.1f%n", "notes of one step, microseconds on one thread", noteMicros);
        out.printf(Locale.ROOT, "needless unknowns: %.2f %% of what was in flight (target: at most %.0f %%)%n", 100 * share, 100 * TARGET);
        out.flush();
        return tally.sentTwice == 0 && tally.falseWords == 0 && tally.inFlight > 0 && share <= TARGET ? 0 : 1;
    }

    private static void line(PrintWriter out, String name, int figure) {
        out.printf("  %-62s %8d%n", name, figure);
    }
}

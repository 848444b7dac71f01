package dev.waybill.lab.bench;

import dev.waybill.json.Json;
import dev.waybill.lab.bench.BenchRound.Result;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code ./waybill bench}: guarded steps per second of the whole engine, beside the seed's protocol on the same engine and store. */
@Command(
        name = "bench",
        mixinStandardHelpOptions = true,
        description = "Measures guarded steps per second and prints the ratio to the seed's protocol; medians of interleaved rounds.")
public final class BenchCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Option(
            names = "--store",
            defaultValue = BenchTarget.TEMPORARY_SQLITE,
            description = "postgresql://USER[:PASS]@HOST:PORT/DB (an empty database), sqlite:FILE, temporary-postgres or temporary-sqlite")
    private String store;

    @Option(names = "--workflows", defaultValue = "4000", description = "runs per round at the highest concurrency (fewer below it)")
    private int workflows;

    @Option(names = "--steps", defaultValue = "10")
    private int steps;

    @Option(names = "--concurrency", split = ",", defaultValue = "1,32,128")
    private List<Integer> concurrency;

    @Option(names = "--protocol", split = ",", defaultValue = "waybill,seed", description = "waybill, unrecorded (without the flight recorder), seed")
    private List<String> protocols;

    @Option(names = "--rounds", defaultValue = "3")
    private int rounds;

    @Option(names = "--minutes", defaultValue = "0", description = "instead: one long round on a fresh store; does speed decay as rows gather?")
    private int minutes;

    @Option(names = {"-o", "--output"}, defaultValue = "table", description = "table or json")
    private String output;

    @Override
    public Integer call() throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        if (minutes > 0) {
            return decay(out);
        }
        Map<String, List<Result>> results = new LinkedHashMap<>();
        try (BenchTarget target = new BenchTarget(store)) {
            for (int round = 0; round < rounds; round++) {
                for (int c : concurrency) {
                    for (String protocol : protocols) {
                        int n = workflows(c, protocol);
                        Result result = new BenchRound(target, protocol, steps).run(n, c, Math.max(c, n / 5));
                        results.computeIfAbsent(protocol + "@" + c, k -> new ArrayList<>()).add(result);
                        if (output.equals("table")) {
                            out.printf(Locale.ROOT, "  round %d  %-10s %4d at once  %,9.0f steps/s%n", round + 1, protocol, c, result.stepsPerSecond());
                            out.flush();
                        }
                    }
                }
            }
        }
        if (output.equals("json")) {
            out.println(Json.write(json(results)));
        } else {
            table(out, results);
        }
        out.flush();
        return 0;
    }

    private int decay(PrintWriter out) throws InterruptedException {
        int highest = concurrency.stream().max(Comparator.naturalOrder()).orElse(1);
        try (BenchTarget target = new BenchTarget(store)) {
            List<Double> rates = new BenchRound(target, "waybill", steps)
                    .decay(Duration.ofMinutes(minutes), Duration.ofSeconds(30), highest, line -> {
                        out.println("  " + line);
                        out.flush();
                    });
            int half = rates.size() / 2;
            double early = rates.subList(1, Math.max(2, half)).stream().mapToDouble(r -> r).average().orElse(0);
            double late = rates.subList(half, rates.size()).stream().mapToDouble(r -> r).average().orElse(0);
            out.printf(Locale.ROOT, "second half / first half (without the first interval): %.2f%n", late / early);
            out.flush();
        }
        return 0;
    }

    /** Rounds of about the same length whatever is measured: the seed's protocol is slower, a single run at once too. */
    private int workflows(int concurrency, String protocol) {
        int highest = this.concurrency.stream().max(Comparator.naturalOrder()).orElse(1);
        double share = Math.max(0.05, Math.min(1, concurrency / (double) highest)) * (protocol.equals("seed") ? 0.25 : 1);
        return Math.max(concurrency, (int) (workflows * share));
    }

    private static double median(List<Result> results, ToDoubleFunction<Result> of) {
        double[] sorted = results.stream().mapToDouble(of).sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    private void table(PrintWriter out, Map<String, List<Result>> results) {
        out.printf(Locale.ROOT, "%n%d steps a run, effectful no-op handler, medians of %d rounds%n", steps, rounds);
        out.println(" protocol   at once    steps/s   p50 ms   p99 ms   turn commits/step   start+claim commits/step   WAL bytes/step");
        results.forEach((key, list) -> {
            Result any = list.getFirst();
            out.printf(
                    Locale.ROOT, " %-10s %7d %,10.0f %8.2f %8.2f %19.3f %26.3f %16.0f%n", any.protocol(), any.concurrency(),
                    median(list, Result::stepsPerSecond), median(list, Result::p50Millis), median(list, Result::p99Millis),
                    median(list, r -> r.turnCommits() / (double) r.steps()), median(list, r -> r.otherCommits() / (double) r.steps()),
                    median(list, r -> r.walBytes() / (double) r.steps()));
        });
        for (int c : concurrency) {
            List<Result> ours = results.get("waybill@" + c);
            List<Result> seed = results.get("seed@" + c);
            List<Result> unrecorded = results.get("unrecorded@" + c);
            if (ours != null && unrecorded != null) {
                out.printf(
                        Locale.ROOT, " at %d at once: %.3f times the speed without the flight recorder%n", c,
                        median(ours, Result::stepsPerSecond) / median(unrecorded, Result::stepsPerSecond));
            }
            if (ours != null && seed != null) {
                out.printf(
                        Locale.ROOT, " at %d at once: %.1f times the seed's protocol%n", c,
                        median(ours, Result::stepsPerSecond) / median(seed, Result::stepsPerSecond));
            }
        }
    }

    private ObjectNode json(Map<String, List<Result>> results) {
        ObjectNode document = Json.NODES.objectNode();
        document.put("steps", steps);
        document.put("rounds", rounds);
        ArrayNode rows = document.putArray("results");
        results.forEach((key, list) -> {
            ObjectNode row = rows.addObject();
            row.put("protocol", list.getFirst().protocol());
            row.put("concurrency", list.getFirst().concurrency());
            row.put("steps_per_second", median(list, Result::stepsPerSecond));
            row.put("p50_ms", median(list, Result::p50Millis));
            row.put("p99_ms", median(list, Result::p99Millis));
            row.put("turn_commits_per_step", median(list, r -> r.turnCommits() / (double) r.steps()));
            row.put("other_commits_per_step", median(list, r -> r.otherCommits() / (double) r.steps()));
            row.put("wal_bytes_per_step", median(list, r -> r.walBytes() / (double) r.steps()));
            row.put("receipts", list.stream().mapToLong(Result::receipts).sum());
        });
        return document;
    }
}

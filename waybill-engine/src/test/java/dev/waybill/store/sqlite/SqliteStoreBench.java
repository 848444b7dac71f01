package dev.waybill.store.sqlite;

import static dev.waybill.model.EffectState.COMMITTED;
import static dev.waybill.model.EffectState.DISPATCHED;

import com.sun.management.OperatingSystemMXBean;
import dev.waybill.model.Claim;
import dev.waybill.model.EffectKind;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.ReceiptId;
import dev.waybill.model.Reply;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.JournalRow;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Release;
import dev.waybill.store.Start;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;

/**
 * Fused commits (settle of step k with the intent of step k + 1) in batches, ten steps for each instance: what the store alone can do.
 * Arguments: batch size (100), seconds (10), file (a temporary one).
 */
final class SqliteStoreBench {
    private static final int STEPS = 10;
    private static final String REQUEST = "{\"url\":\"https://pay.example/v1/charges\",\"method\":\"POST\",\"body\":\"" + "x".repeat(170) + "\"}";
    private static final byte[] REPLY = ("{\"id\":\"pi_123\",\"ok\":true,\"pad\":\"" + "y".repeat(70) + "\"}").getBytes(StandardCharsets.UTF_8);
    private static final String OUTPUT = new String(REPLY, StandardCharsets.UTF_8);
    private static final String HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    private final Random random = new Random(1);
    private final UUID node = new UUID(7, 7);
    private long counter;

    public static void main(String[] arguments) throws Exception {
        int batch = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 100;
        int seconds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 10;
        Path file = arguments.length > 2 ? Path.of(arguments[2]) : Files.createTempDirectory("waybill-bench").resolve("bench.db");
        new SqliteStoreBench().run(file, batch, seconds);
    }

    private void run(Path file, int batch, int seconds) throws IOException {
        try (SqliteStore store = new SqliteStore(SqliteConfig.of(file), InstantSource.system())) {
            store.migrate();
            store.registerNode(node, "bench", Duration.ofHours(1));
            long commits = 0;
            long starting = 0;
            long begin = System.nanoTime();
            long window = begin;
            long inWindow = 0;
            long cpu = cpu();
            while (System.nanoTime() - begin < seconds * 1_000_000_000L) {
                long before = System.nanoTime();
                List<Start> starts = new ArrayList<>();
                for (int i = 0; i < batch; i++) {
                    starts.add(start());
                }
                store.start(node, starts);
                starting += System.nanoTime() - before;
                List<Commit> moves;
                for (int step = 0; step <= STEPS; step++) {
                    moves = new ArrayList<>();
                    for (Start start : starts) {
                        moves.add(move(start, step));
                    }
                    for (CommitAnswer answer : store.commit(node, moves, false)) {
                        if (!(answer instanceof CommitAnswer.Settled)) {
                            throw new IllegalStateException(answer.toString());
                        }
                    }
                    commits += batch;
                    inWindow += batch;
                }
                if (System.nanoTime() - window > 500_000_000L) {
                    System.out.printf(
                            "%,9.0f commits/s, %5.1f us of processor each%n",
                            inWindow / ((System.nanoTime() - window) / 1e9), (cpu() - cpu) / 1e3 / inWindow);
                    cpu = cpu();
                    window = System.nanoTime();
                    inWindow = 0;
                }
            }
            double elapsed = (System.nanoTime() - begin) / 1e9;
            System.out.printf(
                    "batch %d: %,.0f fused commits/s (%,.0f without the time of starts), %,d in all, file %,d MiB, %,d bytes written for each%n",
                    batch, commits / elapsed, commits / (elapsed - starting / 1e9), commits, file.toFile().length() >> 20, written() / commits);
        }
    }

    /** A loaded machine cannot hide what a commit costs. */
    private static long cpu() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    /** To the log and by checkpoints; 0 where the system does not say. */
    private static long written() throws IOException {
        Path io = Path.of("/proc/self/io");
        return Files.exists(io)
                ? Files.readAllLines(io).stream().filter(line -> line.startsWith("wchar")).mapToLong(line -> Long.parseLong(line.substring(7))).sum()
                : 0;
    }

    private UUID id() {
        return new UUID((0x0190_0000_0000L + counter++ / 1_000) << 16 | 0x7000L | random.nextInt(4_096), random.nextLong() | Long.MIN_VALUE);
    }

    private Start start() {
        InstanceKey key = new InstanceKey("default", id());
        return new Start(
                key, id(), node, "default", 1, 0, "{\"data\":{\"order\":\"A-1\"},\"config\":{}}", null, null, null, null, new Claim(1, id()));
    }

    private Commit move(Start start, int step) {
        UUID transition = id();
        List<JournalRow> settles = step == 0
                ? List.of()
                : List.of(new JournalRow(
                        "step" + (step - 1), 0, 1, DISPATCHED, COMMITTED, "engine", start.claim(), transition, null, null, null, "pi_" + counter,
                        null, true, new Reply(200, Map.of(), REPLY, false), OUTPUT, JournalRow.OutputState.SAVED, null, null));
        String path = "step" + step;
        List<ReceiptRow> intents = step == STEPS
                ? List.of()
                : List.of(new ReceiptRow(
                        ReceiptId.of(start.execution(), start.instance().id(), path, 0), start.execution(), path, 0, false, EffectKind.HTTP,
                        "http_request", "http_request https://pay.example", HASH, "key-" + transition, HASH, REQUEST, start.claim(), node,
                        transition, 92_000, null, null, null, null, null));
        Release release = step == STEPS ? new Release(InstanceState.COMPLETED, null, 0, null, OUTPUT, List.of()) : null;
        return new Commit(start.instance(), start.claim(), transition, settles, List.of(), intents, List.of(), release, false);
    }
}

package dev.waybill.store.postgres;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectKind;
import dev.waybill.model.EffectState;
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
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What the store alone can do: {@code main JDBC_URL USER PASSWORD [SECONDS] [CONCURRENT] [THREADS] [STEPS]}. Every thread drives its share
 * of the concurrent instances through STEPS guarded steps each, always one fused settle + intent for every one of them in one batch.
 * Needs an empty database. Not run by the build.
 */
public final class PostgresCommitBench {
    private static final String REQUEST = "{\"url\":\"https://pay.example/charge\",\"body\":\"" + "x".repeat(240 - 49) + "\"}";
    private static final byte[] REPLY = ("{\"id\":\"pi_" + "x".repeat(110 - 13) + "\"}").getBytes(StandardCharsets.UTF_8);
    private static final UUID NODE = new UUID(1, 1);
    private static final UUID SEQUENCE = new UUID(2, 2);

    private PostgresCommitBench() {}

    public static void main(String[] args) throws Exception {
        int seconds = args.length > 3 ? Integer.parseInt(args[3]) : 10;
        int concurrent = args.length > 4 ? Integer.parseInt(args[4]) : 128;
        int threads = args.length > 5 ? Integer.parseInt(args[5]) : 2;
        int steps = args.length > 6 ? Integer.parseInt(args[6]) : 10;
        try (PostgresStore store = PostgresStore.open(PostgresConfig.of(args[0], args[1], args[2]));
                Connection watch = DriverManager.getConnection(args[0], args[1], args[2])) {
            store.migrate();
            store.registerNode(NODE, "bench", Duration.ofHours(1));
            for (int round = 0; round < 4; round++) {
                AtomicLong done = new AtomicLong();
                AtomicLong commits = new AtomicLong();
                long walBefore = wal(watch);
                long cpuBefore = cpu();
                long begin = System.nanoTime();
                long end = begin + seconds * 1_000_000_000L;
                List<Thread> running = new ArrayList<>();
                for (int t = 0; t < threads; t++) {
                    int share = concurrent / threads;
                    long seed = round * 100L + t;
                    running.add(Thread.ofPlatform().start(() -> drive(store, new SplittableRandom(seed), share, steps, end, done, commits)));
                }
                for (Thread thread : running) {
                    thread.join();
                }
                double elapsed = (System.nanoTime() - begin) / 1e9;
                System.out.printf(
                        "round %d: %.0f steps/s, %.3f commits/step, %d B of WAL per step, %.1f us of this process's CPU per step%n",
                        round, done.get() / elapsed, (double) commits.get() / done.get(), (wal(watch) - walBefore) / done.get(),
                        (cpu() - cpuBefore) / 1e3 / done.get());
            }
        }
    }

    private static final class Run {
        final InstanceKey key;
        final Claim claim;
        int step;

        Run(InstanceKey key, Claim claim) {
            this.key = key;
            this.claim = claim;
        }
    }

    private static void drive(
            PostgresStore store, SplittableRandom random, int share, int steps, long end, AtomicLong done, AtomicLong commits) {
        List<Run> runs = new ArrayList<>();
        // Out of step, as in life: at every moment some instances start and some end.
        for (int i = 0; i < share; i++) {
            runs.add(start(store, random));
        }
        for (int i = 0; i < share; i++) {
            for (int s = 0; s < i % steps; s++) {
                store.commit(NODE, List.of(next(runs.get(i), random, steps)), false);
                runs.get(i).step++;
            }
        }
        while (System.nanoTime() < end) {
            List<Commit> batch = new ArrayList<>();
            List<Run> fresh = new ArrayList<>();
            for (Run run : runs) {
                batch.add(next(run, random, steps));
            }
            for (CommitAnswer answer : store.commit(NODE, batch, false)) {
                if (!(answer instanceof CommitAnswer.Settled)) {
                    throw new IllegalStateException(answer.toString());
                }
            }
            commits.incrementAndGet();
            List<Start> starts = new ArrayList<>();
            for (Run run : runs) {
                if (run.step++ < steps) {
                    fresh.add(run);
                    done.incrementAndGet();
                } else {
                    Run next = new Run(new InstanceKey("default", uuid7(random)), new Claim(1, uuid(random)));
                    starts.add(toStart(next));
                    fresh.add(next);
                }
            }
            store.start(NODE, starts);
            runs = fresh;
        }
    }

    private static Run start(PostgresStore store, SplittableRandom random) {
        Run run = new Run(new InstanceKey("default", uuid7(random)), new Claim(1, uuid(random)));
        store.start(NODE, List.of(toStart(run)));
        return run;
    }

    private static Start toStart(Run run) {
        return new Start(
                run.key, run.key.id(), SEQUENCE, "default", 1, 0, "{\"data\":{\"order\":\"A-1\"},\"config\":{}}", null, null, null, null,
                run.claim);
    }

    private static Commit next(Run run, SplittableRandom random, int steps) {
        UUID transition = uuid(random);
        List<JournalRow> settles = run.step == 0
                ? List.of()
                : List.of(new JournalRow(
                        "step_" + run.step, 0, 1, EffectState.DISPATCHED, EffectState.COMMITTED, "engine", run.claim, transition, null, null,
                        null, null, null, true, new Reply(200, Map.of(), REPLY, false), null, JournalRow.OutputState.SAVED, null, null));
        List<ReceiptRow> intents = run.step == steps ? List.of() : List.of(intent(run, "step_" + (run.step + 1), transition, random));
        Release release =
                run.step == steps ? new Release(InstanceState.COMPLETED, null, 0, null, "{\"output\":{}}", List.of()) : null;
        return new Commit(run.key, run.claim, transition, settles, List.of(), intents, List.of(), release, false);
    }

    private static ReceiptRow intent(Run run, String path, UUID transition, SplittableRandom random) {
        byte[] hash = new byte[32];
        random.nextBytes(hash);
        String sha = HexFormat.of().formatHex(hash);
        return new ReceiptRow(
                ReceiptId.of(run.key.id(), run.key.id(), path, 0), run.key.id(), path, 0, false, EffectKind.HTTP, "http_request",
                "http_request https://pay.example", sha, null, sha, REQUEST, run.claim, NODE, transition, 65_000, null, null, null, null,
                null);
    }

    private static UUID uuid(SplittableRandom random) {
        return new UUID(random.nextLong(), random.nextLong());
    }

    private static final AtomicLong TIME = new AtomicLong(0x0190_0000_0000L);

    private static UUID uuid7(SplittableRandom random) {
        return new UUID(TIME.incrementAndGet() << 16 | 0x7000L, random.nextLong() >>> 2 | 0x8000_0000_0000_0000L);
    }

    private static long cpu() {
        return ProcessHandle.current().info().totalCpuDuration().orElseThrow().toNanos();
    }

    private static long wal(Connection connection) throws SQLException {
        try (var statement = connection.createStatement();
                var row = statement.executeQuery("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")) {
            row.next();
            return row.getLong(1);
        }
    }
}

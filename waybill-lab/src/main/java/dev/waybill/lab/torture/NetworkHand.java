package dev.waybill.lab.torture;

import dev.waybill.test.FaultProxy;
import dev.waybill.test.FaultProxy.Direction;
import dev.waybill.test.PostgresCommitCut;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Strikes links: engine to database (also exactly at a COMMIT), engine to provider. */
final class NetworkHand implements Nemesis.Hand {
    /** No request is held back longer than that (ms): what is quiet must be quiet. */
    static final int LONGEST_ON_THE_ROAD_MILLIS = 2_500;

    private static final long TO_COMMIT_MILLIS = 2_500;
    /** Heads and bodies of requests and answers end well below. */
    private static final int REQUEST_BYTES = 700;

    private static final int ANSWER_BYTES = 260;
    /** A link to the database passes these in some seconds; one that is past its number is cut in its next piece. */
    private static final int LINK_BYTES = 60_000;

    private final Cell cell;
    private final @Nullable PostgresGround ground;
    private final Deeds deeds;
    private final Random random;

    NetworkHand(Cell cell, @Nullable PostgresGround ground, Deeds deeds, Random random) {
        this.cell = cell;
        this.ground = ground;
        this.deeds = deeds;
        this.random = random;
    }

    /** Which transaction a cut is meant for, by its statements. */
    private enum Commit {
        INTENT,
        SETTLE,
        FUSED,
        OTHER;

        private boolean is(String sql) {
            boolean intent = sql.contains("INSERT INTO effect_receipts");
            boolean settle = sql.contains("INSERT INTO receipt_journal");
            return switch (this) {
                case INTENT -> intent && !settle;
                case SETTLE -> settle && !intent;
                case FUSED -> intent && settle;
                case OTHER -> !intent && !settle && !sql.startsWith("SELECT") && !sql.startsWith("BEGIN") && !sql.startsWith("COMMIT");
            };
        }
    }

    @Override
    public long pauseMillis() {
        return 300 + random.nextInt(1_500);
    }

    @Override
    public void strike() {
        int drawn = random.nextInt(100);
        PostgresGround database = ground;
        if (database == null || drawn >= 60) {
            road();
        } else if (drawn < 32) {
            deeds.trouble(() -> commitCut(link(database)));
        } else if (drawn < 50) {
            deeds.trouble(() -> databaseLink(link(database)));
        } else {
            deeds.trouble(() -> swizzle(database));
        }
    }

    /** Of a node that works, if there is one. */
    private PostgresGround.Link link(PostgresGround database) {
        List<PostgresGround.Link> working = database.links().stream().filter(link -> node(link).isAtWork()).toList();
        List<PostgresGround.Link> among = working.isEmpty() ? database.links() : working;
        return among.get(random.nextInt(among.size()));
    }

    /** The reply to COMMIT is lost, or COMMIT itself. */
    private void commitCut(PostgresGround.Link link) {
        Commit which = Commit.values()[random.nextInt(Commit.values().length)];
        boolean reply = random.nextBoolean();
        int times = 1 + random.nextInt(2);
        Predicate<String> sql = which::is;
        PostgresCommitCut commits = link.commits();
        int before = commits.cuts();
        Instant at = deeds.now();
        if (reply) {
            commits.loseReply(sql, times);
        } else {
            commits.loseCommit(sql, times);
        }
        long deadline = System.nanoTime() + TO_COMMIT_MILLIS * 1_000_000;
        while (commits.cuts() < before + times && System.nanoTime() < deadline) {
            Deeds.pause(20);
        }
        commits.disarm();
        if (commits.cuts() > before) {
            deeds.log(at, deeds.now(), "cut at COMMIT", node(link), which.name().toLowerCase(java.util.Locale.ROOT) + (reply ? ", reply lost" : ", lost"));
        }
    }

    private Node node(PostgresGround.Link link) {
        return cell.nodes().get(link.node() - 1);
    }

    private void databaseLink(PostgresGround.Link link) {
        FaultProxy wire = link.wire();
        Instant at = deeds.now();
        String what;
        switch (random.nextInt(6)) {
            case 0 -> {
                what = "cut after request bytes";
                wire.cutAfter(Direction.REQUEST, random.nextInt(LINK_BYTES));
                Deeds.pause(400 + random.nextInt(800));
            }
            case 1 -> {
                what = "cut after answer bytes";
                wire.cutAfter(Direction.ANSWER, random.nextInt(LINK_BYTES));
                Deeds.pause(400 + random.nextInt(800));
            }
            case 2 -> {
                what = "slow";
                wire.delay(Duration.ofMillis(20 + random.nextInt(180)));
                Deeds.pause(1_500);
            }
            case 3 -> {
                what = "half open";
                wire.stall(random.nextBoolean() ? Direction.REQUEST : Direction.ANSWER);
                Deeds.pause(500 + random.nextInt(2_000));
            }
            case 4 -> {
                // Longer than the lease: a live owner that cannot say so.
                what = "black hole";
                wire.stall(Direction.REQUEST, Direction.ANSWER);
                Deeds.pause(4_000 + random.nextInt(1_000));
            }
            default -> {
                what = "reset";
                wire.reset();
                wire.refuse();
                Deeds.pause(random.nextInt(1_000));
            }
        }
        wire.heal();
        deeds.log(at, deeds.now(), "database link", node(link), what);
    }

    private void road() {
        Road road = cell.roads().get(random.nextInt(cell.roads().size()));
        FaultProxy wire = road.wire();
        Instant at = deeds.now();
        String what;
        switch (random.nextInt(7)) {
            case 0 -> {
                what = "cut after request bytes";
                wire.cutAfter(Direction.REQUEST, random.nextInt(REQUEST_BYTES));
                Deeds.pause(600);
            }
            case 1 -> {
                what = "cut after answer bytes";
                wire.cutAfter(Direction.ANSWER, random.nextInt(ANSWER_BYTES));
                Deeds.pause(600);
            }
            case 2 -> {
                what = "slow";
                wire.delay(Duration.ofMillis(50 + random.nextInt(350)));
                Deeds.pause(1_200);
            }
            case 3 -> {
                what = "half open";
                wire.stall(Direction.ANSWER);
                Deeds.pause(500 + random.nextInt(1_500));
            }
            case 4 -> {
                what = "black hole";
                wire.stall(Direction.REQUEST, Direction.ANSWER);
                Deeds.pause(500 + random.nextInt(LONGEST_ON_THE_ROAD_MILLIS - 800));
            }
            case 5 -> {
                what = "refused";
                wire.refuse();
                Deeds.pause(500);
            }
            default -> {
                what = "ended by FIN";
                for (int i = 0; i < 10; i++) {
                    wire.halfClose(Direction.ANSWER);
                    Deeds.pause(40);
                }
            }
        }
        wire.heal();
        deeds.log(at, deeds.now(), "provider road", null, what);
    }

    /** Several links fall silent one after the other and come back in another order. */
    private void swizzle(PostgresGround database) {
        List<FaultProxy> wires = new ArrayList<>(database.links().stream().map(PostgresGround.Link::wire).toList());
        Collections.shuffle(wires, random);
        List<FaultProxy> chosen = new ArrayList<>(wires.subList(0, 1 + random.nextInt(wires.size())));
        Instant at = deeds.now();
        for (FaultProxy wire : chosen) {
            wire.stall(Direction.REQUEST, Direction.ANSWER);
            Deeds.pause(random.nextInt(600));
        }
        Collections.shuffle(chosen, random);
        for (FaultProxy wire : chosen) {
            if (random.nextBoolean()) {
                wire.reset();
            }
            wire.heal();
            Deeds.pause(random.nextInt(600));
        }
        deeds.log(at, deeds.now(), "swizzle", null, null);
    }
}

package dev.waybill.lab.torture;

import dev.waybill.test.FaultProxy;
import dev.waybill.test.FaultProxy.Direction;
import dev.waybill.test.PostgresCommitCut;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Strikes links: engine to database (also exactly at a COMMIT), engine to provider. */
final class NetworkHand implements Nemesis.Hand {
    /** No request is held back longer than that (ms): what is quiet must be quiet. */
    static final int LONGEST_ON_THE_ROAD_MILLIS = 2_500;

    private static final long TO_COMMIT_MILLIS = 2_000;
    private static final int LINKS_TO_TRY = 3;
    /** Heads and bodies of requests and answers end well below. */
    private static final int REQUEST_BYTES = 700;

    private static final int ANSWER_BYTES = 260;
    /** A link to the database passes these in some seconds; one that is past its number is cut in its next piece. */
    private static final int LINK_BYTES = 60_000;

    private final Cell cell;
    private final Deeds deeds;
    private final Random random;
    private final Deck<Runnable> deck;

    NetworkHand(Cell cell, @Nullable PostgresGround ground, Deeds deeds, Random random) {
        this.cell = cell;
        this.deeds = deeds;
        this.random = random;
        List<Runnable> cards = new ArrayList<>();
        for (RoadFault fault : RoadFault.values()) {
            cards.add(() -> road(fault));
        }
        if (ground != null) {
            for (Commit commit : Commit.values()) {
                cards.add(() -> deeds.trouble(() -> commitCut(ground, commit, true)));
                cards.add(() -> deeds.trouble(() -> commitCut(ground, commit, false)));
            }
            for (LinkFault fault : LinkFault.values()) {
                cards.add(() -> deeds.trouble(() -> databaseLink(link(ground), fault)));
            }
            cards.add(() -> deeds.trouble(() -> swizzle(ground)));
            cards.add(() -> deeds.trouble(() -> swizzle(ground)));
        }
        this.deck = new Deck<>(List.of(), cards, random);
    }

    private enum RoadFault {
        CUT_AFTER_REQUEST_BYTES,
        CUT_AFTER_ANSWER_BYTES,
        SLOW,
        HALF_OPEN,
        BLACK_HOLE,
        REFUSED,
        ENDED_BY_FIN
    }

    private enum LinkFault {
        CUT_AFTER_REQUEST_BYTES,
        CUT_AFTER_ANSWER_BYTES,
        SLOW,
        HALF_OPEN,
        BLACK_HOLE,
        RESET
    }

    private static String words(Enum<?> fault) {
        return fault.name().toLowerCase(Locale.ROOT).replace('_', ' ').replace("fin", "FIN");
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
        deck.draw().run();
    }

    /** Of a node that works, if there is one. */
    private PostgresGround.Link link(PostgresGround database) {
        List<PostgresGround.Link> working = database.links().stream().filter(link -> node(link).isAtWork()).toList();
        List<PostgresGround.Link> among = working.isEmpty() ? database.links() : working;
        return among.get(random.nextInt(among.size()));
    }

    /** The reply to COMMIT is lost, or COMMIT itself; where no such COMMIT comes in time, on another link. */
    private void commitCut(PostgresGround ground, Commit which, boolean reply) {
        for (int tries = LINKS_TO_TRY; tries > 0 && !commitCut(link(ground), which, reply); ) {
            tries--;
        }
    }

    private boolean commitCut(PostgresGround.Link link, Commit which, boolean reply) {
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
            deeds.log(at, deeds.now(), "cut at COMMIT", node(link), words(which) + (reply ? ", reply lost" : ", lost"));
        }
        return commits.cuts() > before;
    }

    private Node node(PostgresGround.Link link) {
        return cell.nodes().get(link.node() - 1);
    }

    private void databaseLink(PostgresGround.Link link, LinkFault fault) {
        FaultProxy wire = link.wire();
        Instant at = deeds.now();
        switch (fault) {
            case CUT_AFTER_REQUEST_BYTES -> {
                wire.cutAfter(Direction.REQUEST, random.nextInt(LINK_BYTES));
                Deeds.pause(400 + random.nextInt(800));
            }
            case CUT_AFTER_ANSWER_BYTES -> {
                wire.cutAfter(Direction.ANSWER, random.nextInt(LINK_BYTES));
                Deeds.pause(400 + random.nextInt(800));
            }
            case SLOW -> {
                wire.delay(Duration.ofMillis(20 + random.nextInt(180)));
                Deeds.pause(1_500);
            }
            case HALF_OPEN -> {
                wire.stall(random.nextBoolean() ? Direction.REQUEST : Direction.ANSWER);
                Deeds.pause(500 + random.nextInt(2_000));
            }
            case BLACK_HOLE -> {
                // Longer than the lease: a live owner that cannot say so.
                wire.stall(Direction.REQUEST, Direction.ANSWER);
                Deeds.pause(4_000 + random.nextInt(1_000));
            }
            case RESET -> {
                wire.reset();
                wire.refuse();
                Deeds.pause(random.nextInt(1_000));
            }
        }
        wire.heal();
        deeds.log(at, deeds.now(), "database link", node(link), words(fault));
    }

    private void road(RoadFault fault) {
        Road road = cell.roads().get(random.nextInt(cell.roads().size()));
        FaultProxy wire = road.wire();
        Instant at = deeds.now();
        switch (fault) {
            case CUT_AFTER_REQUEST_BYTES -> {
                wire.cutAfter(Direction.REQUEST, random.nextInt(REQUEST_BYTES));
                Deeds.pause(600);
            }
            case CUT_AFTER_ANSWER_BYTES -> {
                wire.cutAfter(Direction.ANSWER, random.nextInt(ANSWER_BYTES));
                Deeds.pause(600);
            }
            case SLOW -> {
                wire.delay(Duration.ofMillis(50 + random.nextInt(350)));
                Deeds.pause(1_200);
            }
            case HALF_OPEN -> {
                wire.stall(Direction.ANSWER);
                Deeds.pause(500 + random.nextInt(1_500));
            }
            case BLACK_HOLE -> {
                wire.stall(Direction.REQUEST, Direction.ANSWER);
                Deeds.pause(500 + random.nextInt(LONGEST_ON_THE_ROAD_MILLIS - 800));
            }
            case REFUSED -> {
                wire.refuse();
                Deeds.pause(500);
            }
            case ENDED_BY_FIN -> {
                for (int i = 0; i < 10; i++) {
                    wire.halfClose(Direction.ANSWER);
                    Deeds.pause(40);
                }
            }
        }
        wire.heal();
        deeds.log(at, deeds.now(), "provider road", null, words(fault));
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

package dev.waybill.lab.torture;

import dev.waybill.test.FaultProxy.Direction;
import dev.waybill.test.PostgresPair;
import dev.waybill.test.SmallDisk;
import dev.waybill.test.TestPostgres;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;

/** Strikes the database: killed and restarted, its standby promoted, standby or replication away, the disk full. */
final class StoreHand implements Nemesis.Hand {
    /** A standby that has not caught up by then is made anew. */
    private static final long TO_FOLLOW_MILLIS = 8_000;

    private final PostgresGround ground;
    private final Deeds deeds;
    private final RandomGenerator random;
    private final Deck<Runnable> deck;

    StoreHand(PostgresGround ground, Deeds deeds, Random random) {
        this.ground = ground;
        this.deeds = deeds;
        this.random = random;
        List<Runnable> cards = List.of(
                () -> kill(false), () -> kill(false), () -> kill(true), this::failOver, this::failOver, this::failOver, this::zombie,
                this::standbyAway, () -> replicationStalled(false), () -> replicationStalled(true), this::diskFull);
        this.deck = new Deck<>(List.of(this::failOver), cards, random);
    }

    @Override
    public long pauseMillis() {
        return 2_500 + random.nextInt(6_000);
    }

    @Override
    public void strike() {
        deeds.trouble(() -> {
            deck.draw().run();
            repair();
        });
    }

    /** The primary, or the whole site at once. */
    private void kill(boolean site) {
        PostgresPair pair = ground.pair();
        TestPostgres.Server standby = pair.standby();
        boolean both = standby != null && site;
        Instant at = deeds.now();
        pair.primary().kill();
        if (both && standby != null) {
            standby.kill();
        }
        Deeds.pause(random.nextInt(1_500));
        pair.primary().start();
        if (both && standby != null) {
            standby.start();
        }
        deeds.log(at, deeds.now(), both ? "store and standby kill" : "store kill", null, null);
    }

    private void failOver() {
        Instant at = deeds.now();
        ground.pair().failOver();
        ground.followPrimary();
        Deeds.pause(random.nextInt(800));
        ground.pair().attach();
        deeds.log(at, deeds.now(), "standby promoted", null, null);
    }

    /**
     * The primary stands still while its standby is promoted, then goes on as if nothing had been, with every engine still connected to it.
     * It may acknowledge no write: the engines', nor one of the lab's own that knew it before.
     */
    private void zombie() {
        Instant at = deeds.now();
        try (Connection straggler = ground.connect()) {
            TestPostgres.Server zombie = ground.pair().failOverFrozen();
            try {
                CompletableFuture<Boolean> write = CompletableFuture.supplyAsync(() -> acknowledges(straggler));
                zombie.thaw();
                // Only then does everybody find the new one, and only after a while does that have a standby of its own.
                Deeds.pause(700 + random.nextInt(1_500));
                boolean acknowledged = write.isDone() && write.join();
                ground.followPrimary();
                if (acknowledged) {
                    throw new IllegalStateException("a primary that was frozen during the promotion acknowledged a write");
                }
            } finally {
                zombie.close();
            }
        } catch (SQLException e) {
            throw new IllegalStateException("no connection to a primary that is there: " + e.getMessage(), e);
        }
        ground.pair().attach();
        deeds.log(at, deeds.now(), "standby promoted", null, "beside a frozen primary");
    }

    private static boolean acknowledges(Connection connection) {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE zombie_wrote (n int)");
            return true;
        } catch (SQLException gone) {
            return false;
        }
    }

    /** Meanwhile commits wait; what waits is durable here and not there. */
    private void standbyAway() {
        TestPostgres.Server standby = ground.pair().standby();
        if (standby != null) {
            Instant at = deeds.now();
            standby.kill();
            Deeds.pause(300 + random.nextInt(2_500));
            standby.start();
            deeds.log(at, deeds.now(), "standby kill", null, null);
        }
    }

    /** @param forEver the primary dies meanwhile: its last commits nobody was told of, and the standby goes on without them */
    private void replicationStalled(boolean forEver) {
        Instant at = deeds.now();
        ground.pair().replication().stall(Direction.REQUEST, Direction.ANSWER);
        Deeds.pause(300 + random.nextInt(2_500));
        if (forEver) {
            ground.pair().failOver();
            ground.pair().replication().heal();
            ground.followPrimary();
            ground.pair().attach();
            deeds.log(at, deeds.now(), "standby promoted", null, "behind a stalled link");
        } else {
            ground.pair().replication().heal();
            deeds.log(at, deeds.now(), "replication stall", null, null);
        }
    }

    private void diskFull() {
        SmallDisk disk = ground.pair().primary().disk();
        if (disk == null) {
            kill(false);
            return;
        }
        Instant at = deeds.now();
        disk.fill();
        Deeds.pause(800 + random.nextInt(2_500));
        disk.free();
        deeds.log(at, deeds.now(), "disk full", null, null);
    }

    /** What does not come back by itself is started; a standby that lost touch is made anew. */
    void repair() {
        PostgresPair pair = ground.pair();
        pair.primary().start();
        TestPostgres.Server standby = pair.standby();
        if (standby != null && !standby.isRunning()) {
            standby.start();
        }
        long deadline = System.nanoTime() + TO_FOLLOW_MILLIS * 1_000_000;
        while (!pair.follows()) {
            if (System.nanoTime() > deadline) {
                Instant at = deeds.now();
                pair.primary().start();
                pair.attach();
                deeds.log(at, deeds.now(), "standby made anew", null, null);
                return;
            }
            Deeds.pause(50);
        }
    }
}

package dev.waybill.lab.torture;

import dev.waybill.test.SmallDisk;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;

/** Does what happens to machines, chosen by seed: several hands, each one thing at a time; every deed is in the fault log. */
final class Nemesis {
    /** One kind of trouble. */
    interface Hand {
        long pauseMillis();

        /** One deed, with its repair. */
        void strike();
    }

    private static final int PROCESS_HANDS = 2;

    private final Cell cell;
    private final Deeds deeds;
    private final Restarts restarts = new Restarts();
    private final List<Hand> hands = new ArrayList<>();
    private final ConcurrentLinkedQueue<RuntimeException> broken = new ConcurrentLinkedQueue<>();

    /** @param random one after the other, so that a seed means the same hands */
    Nemesis(Cell cell, Deeds deeds, Random random) {
        this.cell = cell;
        this.deeds = deeds;
        int hands = Math.min(PROCESS_HANDS, cell.nodes().size());
        Deck<ProcessHand.Card> deck = ProcessHand.deck(new Random(random.nextLong()));
        for (int i = 0; i < hands; i++) {
            this.hands.add(new ProcessHand(cell, deeds, restarts, deck, new Random(random.nextLong())));
        }
        PostgresGround postgres = cell.ground() instanceof PostgresGround ground ? ground : null;
        this.hands.add(new NetworkHand(cell, postgres, deeds, new Random(random.nextLong())));
        if (postgres != null) {
            this.hands.add(new StoreHand(postgres, deeds, new Random(random.nextLong())));
        }
        SmallDisk disk = cell.ground() instanceof SqliteGround sqlite ? sqlite.disk() : null;
        if (disk != null) {
            this.hands.add(new SqliteHand(disk, deeds, new Random(random.nextLong())));
        }
    }

    /** While it is told to go on; all is repaired when it returns. */
    void run(BooleanSupplier goOn) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (Hand hand : hands) {
            String name = "nemesis-" + hand.getClass().getSimpleName();
            threads.add(Thread.ofPlatform().daemon().name(name).start(() -> work(hand, goOn)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        restarts.await();
        if (!broken.isEmpty()) {
            throw broken.peek();
        }
        List<String> missing = cell.nodes().stream().filter(node -> !node.isReady()).map(Node::name).toList();
        if (!missing.isEmpty()) {
            throw new IllegalStateException("did not come back: " + missing);
        }
        Instant now = deeds.now();
        deeds.log(now, now, "calm", null, null);
    }

    private void work(Hand hand, BooleanSupplier goOn) {
        try {
            while (goOn.getAsBoolean() && broken.isEmpty()) {
                Deeds.pause(hand.pauseMillis());
                hand.strike();
            }
        } catch (RuntimeException e) {
            broken.add(e);
        }
    }
}

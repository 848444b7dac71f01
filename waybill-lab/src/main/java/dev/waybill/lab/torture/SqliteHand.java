package dev.waybill.lab.torture;

import dev.waybill.test.SmallDisk;
import java.time.Instant;
import java.util.random.RandomGenerator;

/** Strikes what is under a SQLite file: its disk is full for a while. */
final class SqliteHand implements Nemesis.Hand {
    private final SmallDisk disk;
    private final Deeds deeds;
    private final RandomGenerator random;

    SqliteHand(SmallDisk disk, Deeds deeds, RandomGenerator random) {
        this.disk = disk;
        this.deeds = deeds;
        this.random = random;
    }

    @Override
    public long pauseMillis() {
        return 5_000 + random.nextInt(8_000);
    }

    @Override
    public void strike() {
        deeds.trouble(() -> {
            Instant at = deeds.now();
            disk.fill();
            Deeds.pause(800 + random.nextInt(2_500));
            disk.free();
            deeds.log(at, deeds.now(), "disk full", null, null);
        });
    }
}

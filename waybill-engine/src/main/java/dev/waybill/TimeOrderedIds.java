package dev.waybill;

import java.time.InstantSource;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * UUID version 7 (RFC 9562 section 5.7): ids of one process grow, so that keys are appended and not scattered. 62 bits are random.
 */
final class TimeOrderedIds implements Supplier<UUID> {
    private static final int COUNTER_BITS = 12;

    private final InstantSource clock;
    private final RandomGenerator random;
    /** Milliseconds and a counter below them: never goes back, also when the clock does. */
    private final AtomicLong last = new AtomicLong();

    TimeOrderedIds(InstantSource clock, RandomGenerator random) {
        this.clock = clock;
        this.random = random;
    }

    @Override
    public UUID get() {
        long floor = clock.millis() << COUNTER_BITS;
        long tick = last.updateAndGet(before -> Math.max(before + 1, floor));
        long most = ((tick >>> COUNTER_BITS) << 16) | 0x7000L | (tick & 0xFFF);
        long least = (random.nextLong() & 0x3FFF_FFFF_FFFF_FFFFL) | 0x8000_0000_0000_0000L;
        return new UUID(most, least);
    }
}

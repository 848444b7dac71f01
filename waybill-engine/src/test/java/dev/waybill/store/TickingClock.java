package dev.waybill.store;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicReference;

/** Time that a test moves; every reading also moves it by {@code tick}, so that what happens later is later. */
public final class TickingClock implements InstantSource {
    private final AtomicReference<Instant> now = new AtomicReference<>(Instant.parse("2026-11-30T12:00:00Z"));
    private final Duration tick;

    public TickingClock(Duration tick) {
        this.tick = tick;
    }

    @Override
    public Instant instant() {
        return now.getAndUpdate(then -> then.plus(tick));
    }

    public void advance(Duration by) {
        now.updateAndGet(then -> then.plus(by));
    }

    /** Moves time to {@code to} unless it is later already. */
    public void advanceTo(Instant to) {
        now.updateAndGet(then -> then.isBefore(to) ? to : then);
    }
}

package dev.waybill.check;

import dev.waybill.check.Rows.RunKey;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One thing that must hold of every history, whatever was done to the system. One pass over the history. */
interface Property {
    /** Stable, for reports and tests. */
    String name();

    /** What holds, in one sentence. */
    String promise();

    void check(History history, Findings findings);

    /** All of them; S and L numbers are those of the reliability guide. */
    static List<Property> all() {
        return List.of(
                new OneDelivery(), new DurableBeforeSend(), new LegalMoves(), new GaplessJournal(), new Attempts(), new OncePerEffect(),
                new OncePerKey(), new OncePerContent(), new FencedOwner(), new AtomicSettle(), new NoFalseCertainty(), new AppendOnly(),
                new ProviderBytes(), new BlockOrder(), new Timers(), new QuietBeforeResend(), new NothingLost(), new OneRunPerKey(),
                new StoppedMeansStopped(), new UndoneInReverse(), new TenantIsolation(), new Identity(), new Outbox(), new OpenQueue(), new EndedClean(),
                new RestAfterCalm(), new Visible(), new Drained());
    }

    /**
     * What a violation is about: the narrower, the shorter its timeline.
     *
     * @param path the effect, or null = the whole run
     * @param key  an idempotency key or a content in the provider's ledger
     */
    record Subject(@Nullable RunKey run, @Nullable String path, @Nullable String effectId, @Nullable String key) {
        static Subject of(Attempt attempt) {
            return new Subject(attempt.receipt().run(), attempt.receipt().path(), null, null);
        }

        static Subject of(RunKey run) {
            return new Subject(run, null, null, null);
        }

        static Subject of(RunKey run, String path) {
            return new Subject(run, path, null, null);
        }

        /** Where no receipt is known. */
        static Subject effect(@Nullable String effectId) {
            return new Subject(null, null, effectId == null ? "" : effectId, null);
        }

        static Subject key(String key) {
            return new Subject(null, null, null, key);
        }

        @Override
        public String toString() {
            return run != null ? run + (path == null ? "" : " at " + path) : effectId != null ? "effect " + effectId : "key " + key;
        }
    }
}

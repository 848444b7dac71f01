package dev.waybill.store;

import dev.waybill.model.InstanceKey;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Which destinations are held: new dispatches there wait. Asked only about destinations whose profile has a hold policy; every time is the
 * database's, every verb one transaction that locks the destination's row. Releasing and holding are told in the outbox
 * ({@code destination.held}, {@code destination.released}).
 */
public interface DestinationHolds {

    /** Where: the profile's address or handler, and its name for people. */
    record Place(String tenant, String destination, String name) {}

    /** May this receipt be dispatched? */
    sealed interface Admission {
        /** Nothing is held. */
        record Go() implements Admission {}

        /** It is held, and this one dispatch is let through to see whether the destination answers. */
        record Probe() implements Admission {}

        /** It is held: look again after so many milliseconds (more than none). */
        record Held(long againInMillis) implements Admission {}
    }

    /**
     * One receipt for each interval is let through while the destination is held by its policy; the same receipt is let through again.
     *
     * @param probe least time between two probes; also when to look again at a hold that only a person ends
     */
    Admission admit(Place place, UUID receipt, Duration probe);

    /**
     * Counts a receipt that became unknown, once, whoever tells of it how often.
     *
     * @param at where the event goes
     * @return true when this one made the destination held
     */
    boolean unknown(Place place, UUID receipt, InstanceKey at, int unknowns, Duration within, Duration probe);

    /**
     * The destination answered this probe: it is released, and what was counted is forgotten.
     *
     * @return false when it was not held, or this was not the probe
     */
    boolean answered(Place place, UUID probe, InstanceKey at);

    /**
     * A person holds or releases. Such a hold lets no probe through.
     *
     * @return false when it stands like that already; a hold by policy becomes the person's
     */
    boolean set(Place place, boolean held, String actor, String reason);

    /** Of a tenant, or of all for {@code null}; in order of tenant and destination. */
    List<Standing> list(@Nullable String tenant);

    /**
     * @param since   held or released
     * @param actor   {@code policy}, or who it was
     * @param counted unknowns that are remembered
     * @param probeAt when the next dispatch is let through; null = when a person says so, or it is not held
     */
    record Standing(Place place, boolean held, Instant since, String actor, String reason, int counted, @Nullable Instant probeAt) {}

    /** Who holds by itself. */
    String POLICY = "policy";

    /** The run an event of a person's hold belongs to: none. */
    static InstanceKey nowhere(String tenant) {
        return new InstanceKey(tenant, new UUID(0, 0));
    }

    static String why(int unknowns, Duration within) {
        return unknowns + " effects became unknown within " + within.toMillis() + " ms";
    }
}

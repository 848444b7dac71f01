package dev.waybill.engine;

import dev.waybill.definition.DestinationProfile;
import dev.waybill.engine.Decision.Ready;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome;
import dev.waybill.model.Proof;
import dev.waybill.model.ReceiptId;
import dev.waybill.model.Reply;
import dev.waybill.store.DestinationHolds.Admission;
import dev.waybill.store.DestinationHolds.Place;
import dev.waybill.store.StoreException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The hold of a destination as one turn meets it: new dispatches wait while it is held, one at a time is let through as a probe, and a
 * clean answer to that one releases it. What is held stands in the database, for every node. A destination whose profile declares no hold
 * costs nothing here. Only liveness hangs on it: a database that cannot be asked holds nothing back, and nothing is ever sent twice for it.
 */
final class Holds {
    /** Why a resend waits. */
    static final String HELD = "DESTINATION_HELD";
    /** The schedule of a dispatch that waits for its destination, behind the path of its step. */
    static final String PATH = "$held";

    private static final Logger LOG = LoggerFactory.getLogger(Holds.class);
    /** Unknowns that the engine or the author made: they say nothing of the destination. */
    private static final List<String> NOT_ITS_DOING = List.of("drain", "conflict", "handler_exception");

    private final Engine engine;
    private final Set<UUID> probes = new HashSet<>();

    Holds(Engine engine) {
        this.engine = engine;
    }

    /** Milliseconds until it is worth asking again whether this attempt may be dispatched; null = now. */
    @Nullable Long wait(Ready ready) {
        DestinationProfile profile = EffectGuard.effect(ready.step()).profile();
        if (profile == null || profile.hold() == null) {
            return null;
        }
        RunState state = ready.scope().state();
        UUID receipt = ReceiptId.of(state.execution, state.key.id(), ready.path(), ready.attempt());
        try {
            return switch (engine.store().holds().admit(place(state.key, profile), receipt, profile.hold().probe())) {
                case Admission.Go() -> null;
                case Admission.Probe() -> {
                    probes.add(receipt);
                    count("probe");
                    yield null;
                }
                case Admission.Held(long again) -> {
                    count("queued");
                    yield again;
                }
            };
        } catch (StoreException e) {
            LOG.warn("whether destination {} is held could not be read: {}", profile.name(), e.getMessage());
            return null;
        }
    }

    /** An answer, or that none came; told before it is settled, so that a crash between the two forgets nothing. */
    void heard(InstanceKey key, Ready ready, UUID receipt, Outcome outcome) {
        DestinationProfile profile = EffectGuard.effect(ready.step()).profile();
        if (profile == null || profile.hold() == null) {
            return;
        }
        DestinationProfile.Hold hold = profile.hold();
        Place place = place(key, profile);
        boolean probe = probes.remove(receipt);
        try {
            if (outcome instanceof Outcome.Unknown unknown && !NOT_ITS_DOING.contains(unknown.reason())) {
                if (engine.store().holds().unknown(place, receipt, key, hold.unknowns(), hold.within(), hold.probe())) {
                    count("held");
                    LOG.warn("destination {} is held: {} effects became unknown within {}; new dispatches wait", profile.name(), hold.unknowns(), hold.within());
                }
            } else if (probe && clean(outcome) && engine.store().holds().answered(place, receipt, key)) {
                count("released");
                LOG.info("destination {} answered and is released", profile.name());
            }
        } catch (StoreException e) {
            LOG.warn("the hold of destination {} could not be kept: {}", profile.name(), e.getMessage());
        }
    }

    /** It answered in full, yes or no; an overloaded or failing one has not recovered. */
    private static boolean clean(Outcome outcome) {
        return switch (outcome) {
            case Outcome.Committed _, Outcome.OutputUnusable _ -> true;
            case Outcome.NotApplied no -> {
                Reply reply = no.reply();
                yield no.proof() == Proof.REJECTED && (reply == null || reply.status() < 500 && reply.status() != 429);
            }
            case Outcome.OutputLost _, Outcome.Unknown _ -> false;
        };
    }

    private static Place place(InstanceKey key, DestinationProfile profile) {
        return new Place(key.tenant(), profile.match(), profile.name());
    }

    private void count(String event) {
        engine.meter().count("waybill_destination_holds_total", 1, "event", event);
    }
}

package dev.waybill.engine;

import dev.waybill.recorder.DeadFlight;
import dev.waybill.recorder.Flights;
import dev.waybill.recorder.Testimony;
import dev.waybill.recorder.Testimony.Says;
import dev.waybill.store.Store;
import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import java.util.List;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears what the flight recorders of this machine's dead nodes have to say. A lock that was won proves its process dead: its
 * incarnations are fenced first, so that nothing of theirs can commit behind our back and others take over at once. Then every receipt
 * that was shown not to be sent, or whose answer is there, is settled as late truth, if possible before anybody has to call it unknown.
 */
final class Recall implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Recall.class);

    private final Flights flights;
    private final Store store;
    private final LateTruth lateTruth;
    private final Meter meter;

    Recall(Flights flights, Store store, LateTruth lateTruth, Meter meter) {
        this.flights = flights;
        this.store = store;
        this.lateTruth = lateTruth;
        this.meter = meter;
    }

    /** One look; what cannot be settled now stays for the next. */
    @Override
    public void run() {
        for (DeadFlight flight : flights.dead()) {
            try (flight) {
                if (heard(flight)) {
                    flight.delete();
                }
            } catch (StoreException | UnclearCommitException e) {
                LOG.warn("the flight recorder {} waits for the database: {}", flight.path(), e.getMessage());
            } catch (RuntimeException e) {
                LOG.error("the flight recorder {} could not be heard", flight.path(), e);
            }
        }
    }

    private boolean heard(DeadFlight flight) {
        List<UUID> dead = flight.incarnations();
        dead.forEach(store::fence);
        List<Testimony> testimonies = flight.testimonies();
        boolean all = true;
        long gaps = 0;
        for (Testimony testimony : testimonies) {
            all &= lateTruth.recall(testimony);
            gaps += testimony.says() instanceof Says.Gap ? 1 : 0;
        }
        if (all && gaps > 0) {
            meter.count("waybill_recorder_total", gaps, "result", "gap");
        }
        LOG.info("the flight recorder of dead node {} speaks of {} effects, {} of them nobody can know", dead, testimonies.size(), gaps);
        return all;
    }
}

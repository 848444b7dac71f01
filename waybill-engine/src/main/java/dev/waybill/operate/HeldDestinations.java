package dev.waybill.operate;

import dev.waybill.store.DestinationHolds.Place;
import dev.waybill.store.DestinationHolds.Standing;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Destinations as an operator sees them: which there are, which are held, and holding and releasing by hand. */
public interface HeldDestinations {

    /**
     * One destination.
     *
     * @param place    its address or handler, and its name
     * @param holdable whether its profile has a hold policy; null = its profile is not known here (any more)
     * @param standing null: it never had a reason to be held
     */
    record Destination(Place place, @Nullable Boolean holdable, @Nullable Standing standing) {
        public boolean held() {
            return standing != null && standing.held();
        }
    }

    /** Of the node, of the versions that are not deprecated, and whatever was held before; by address. */
    List<Destination> list(String tenant);

    /**
     * Holds or releases. A hold by hand lets no probe through and ends by hand; what waits goes on when it looks again, at the latest
     * after the profile's {@code probe}.
     *
     * @param which name, address or handler
     * @return as it stands then
     * @throws dev.waybill.model.WaybillException 404 DESTINATION_NOT_FOUND, 409 HOLD_NOT_DECLARED, 422 EVIDENCE_REQUIRED without a reason
     */
    Destination set(String tenant, String which, boolean held, String reason, String actor);

    /** Of every tenant; for the gauge. */
    List<Standing> standings();
}

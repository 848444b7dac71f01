package dev.waybill.operate;

import dev.waybill.definition.DestinationProfile;
import dev.waybill.definition.Destinations;
import dev.waybill.model.WaybillException;
import dev.waybill.store.DestinationHolds.Place;
import dev.waybill.store.DestinationHolds.Standing;
import dev.waybill.store.SequenceRow;
import dev.waybill.store.Store;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Destinations as an operator sees them, from profiles and the store. */
public final class DestinationDesk implements HeldDestinations {
    private static final int MAX_SEQUENCES = 1_000;

    private final Store store;
    private final Destinations node;

    /** @param node what this node knows of destinations */
    public DestinationDesk(Store store, Destinations node) {
        this.store = store;
        this.node = node;
    }

    @Override
    public List<Destination> list(String tenant) {
        Map<String, Destination> all = new java.util.TreeMap<>();
        profiles(tenant).forEach((match, profile) ->
                all.put(match, new Destination(new Place(tenant, match, profile.name()), profile.hold() != null, null)));
        for (Standing standing : store.holds().list(tenant)) {
            Destination known = all.get(standing.place().destination());
            all.put(standing.place().destination(), new Destination(standing.place(), known == null ? null : known.holdable(), standing));
        }
        return List.copyOf(all.values());
    }

    private Map<String, DestinationProfile> profiles(String tenant) {
        Map<String, DestinationProfile> profiles = new LinkedHashMap<>();
        node.forTenant(tenant).profiles().forEach(profile -> profiles.putIfAbsent(profile.match(), profile));
        for (SequenceRow row : store.sequences().list(tenant, null, MAX_SEQUENCES)) {
            if (!row.deprecated() && row.definition().contains("\"destinations\"")) {
                // A policy in any version makes it holdable: runs of older versions go on.
                SequenceCatalog.parse(row, Destinations.NONE).destinations().profiles().forEach(profile ->
                        profiles.merge(profile.match(), profile, (first, other) -> first.hold() == null ? other : first));
            }
        }
        return profiles;
    }

    @Override
    public Destination set(String tenant, String which, boolean held, String reason, String actor) {
        if (reason.isBlank()) {
            throw new WaybillException(422, "EVIDENCE_REQUIRED", "say why: it stands in the audit log", "/reason", "add --reason", null);
        }
        List<Destination> found = new ArrayList<>(
                list(tenant).stream().filter(it -> it.place().destination().equals(which) || it.place().name().equals(which)).toList());
        if (found.size() != 1) {
            throw new WaybillException(
                    404, "DESTINATION_NOT_FOUND",
                    found.isEmpty() ? "there is no destination " + which : which + " names " + found.size() + " destinations: give the address", null,
                    "waybill destinations list");
        }
        Destination one = found.getFirst();
        if (held && Boolean.FALSE.equals(one.holdable())) {
            throw WaybillException.conflict(
                    "HOLD_NOT_DECLARED", "the profile of " + which + " declares no hold, and then nobody looks whether it is held",
                    "add \"hold\": {} to the profile, or pause the runs");
        }
        store.holds().set(one.place(), held, actor, reason);
        return list(tenant).stream().filter(it -> it.place().destination().equals(one.place().destination())).findFirst().orElseThrow();
    }

    @Override
    public List<Standing> standings() {
        return store.holds().list(null);
    }

}

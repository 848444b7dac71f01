package dev.waybill.definition;

import dev.waybill.json.Fingerprints;
import dev.waybill.json.Json;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The destination profiles in force, the sequence's own before the node's. An effect has at most one: the longest address that its own
 * begins with, ending where a path segment ends; else the one that names its handler. Only the destination as the receipt shows it is
 * compared, so that a profile is found again from the receipt.
 */
public final class Destinations {
    public static final Destinations NONE = new Destinations(List.of(), false);

    private static final int MAX_FROZEN = 1_000;

    private final List<DestinationProfile> profiles;
    /** The version is published already: what a step relies on was there then, and may be gone from the node. */
    private final boolean published;
    private final Map<JsonNode, DestinationProfile> frozen = new ConcurrentHashMap<>();

    private Destinations(List<DestinationProfile> profiles, boolean published) {
        this.profiles = profiles;
        this.published = published;
    }

    /**
     * Profiles of a node (server configuration, builder), as they are written in a document, each with an optional {@code tenant}.
     *
     * @throws dev.waybill.model.WaybillException 422 INVALID_DESTINATIONS that lists every fault
     */
    public static Destinations ofNode(JsonNode list) {
        Faults faults = new Faults();
        Destinations read = new DestinationReader(faults, handler -> true, true)
                .list(new Fields(Json.NODES.objectNode().set("destinations", list), "", faults));
        Validation validation = faults.result();
        if (!validation.valid()) {
            throw validation.refusal("INVALID_DESTINATIONS", "the list of destinations");
        }
        return read;
    }

    static Destinations of(List<DestinationProfile> profiles) {
        return profiles.isEmpty() ? NONE : new Destinations(List.copyOf(profiles), false);
    }

    /** Those that hold for a tenant. */
    public Destinations forTenant(String tenant) {
        List<DestinationProfile> those = profiles.stream().filter(it -> it.tenant() == null || it.tenant().equals(tenant)).toList();
        return those.size() == profiles.size() ? this : new Destinations(those, published);
    }

    /** The same, read for a version that is published already. */
    public Destinations forPublished() {
        return new Destinations(profiles, true);
    }

    Destinations under(Destinations own) {
        if (own.profiles.isEmpty()) {
            return this;
        }
        List<DestinationProfile> all = new ArrayList<>(own.profiles);
        all.addAll(profiles);
        return new Destinations(List.copyOf(all), published);
    }

    public List<DestinationProfile> profiles() {
        return profiles;
    }

    /**
     * @param destination as the receipt has it: the handler, then what of url, provider, model .. is in the params
     */
    public @Nullable DestinationProfile find(String handler, String destination) {
        if (profiles.isEmpty()) {
            return null;
        }
        for (String part : destination.split(" ")) {
            if (part.contains("://")) {
                DestinationProfile byUrl = best(part);
                if (byUrl != null) {
                    return byUrl;
                }
            }
        }
        return byHandler(handler);
    }

    private @Nullable DestinationProfile byHandler(String handler) {
        return profiles.stream().filter(it -> !it.byUrl() && it.match().equals(handler)).findFirst().orElse(null);
    }

    private @Nullable DestinationProfile best(String url) {
        String lower = url.toLowerCase(java.util.Locale.ROOT);
        if (lower.contains("%2e") || lower.contains("/./") || lower.contains("/../") || lower.endsWith("/..") || lower.endsWith("/.")) {
            return null; // where such a path leads is the server's to say
        }
        DestinationProfile best = null;
        for (DestinationProfile one : profiles) {
            if (one.byUrl() && one.matches(url) && (best == null || one.match().length() > best.match().length())) {
                best = one;
            }
        }
        return best;
    }

    /**
     * A node's profile as it stood when a receipt was dispatched under it.
     *
     * @param document {@link DestinationProfile#document}
     */
    public DestinationProfile frozen(JsonNode document) {
        for (DestinationProfile one : profiles) {
            if (one.ofNode() && one.document().equals(document)) {
                return one;
            }
        }
        if (frozen.size() > MAX_FROZEN) {
            frozen.clear();
        }
        return frozen.computeIfAbsent(document, it -> ofNode(Json.NODES.arrayNode().add(it)).profiles.getFirst());
    }

    /**
     * What can be said of a step before it runs.
     *
     * @param profile the one that holds, as far as its address is written out
     * @param open    another one may hold: the address is only known when it runs
     */
    record Lookup(@Nullable DestinationProfile profile, boolean open) {}

    /** @param used gets every profile that holds or may */
    Lookup lookup(String handler, @Nullable JsonNode url, Set<DestinationProfile> used) {
        String text = url == null || !url.isString() ? null : url.stringValue();
        DestinationProfile profile = byHandler(handler);
        boolean open = published;
        if (text != null) {
            boolean expression = text.startsWith("= ");
            int place = text.indexOf("{{");
            String known = expression ? "" : place < 0 ? text : text.substring(0, place);
            boolean origin = known.indexOf('/', known.indexOf("://") + 3) > 0 && known.contains("://");
            String start = origin || place < 0 && !expression ? Fingerprints.displayUrl(known) : "";
            DestinationProfile byUrl = start.isEmpty() ? null : best(place < 0 ? start : start.substring(0, start.lastIndexOf('/') + 1));
            if (place >= 0 || expression) {
                Set<DestinationProfile> may = new HashSet<>();
                profiles.stream().filter(it -> it.byUrl() && it != byUrl && (it.match() + "/").startsWith(start)).forEach(may::add);
                used.addAll(may);
                open |= !may.isEmpty();
            }
            profile = byUrl != null ? byUrl : profile;
        }
        if (profile != null) {
            used.add(profile);
        }
        return new Lookup(profile, open);
    }
}

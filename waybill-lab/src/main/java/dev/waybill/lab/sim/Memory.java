package dev.waybill.lab.sim;

import dev.waybill.json.Json;
import dev.waybill.lab.sim.Fault.Kind;
import dev.waybill.lab.sim.SimProvider.Answer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** What the provider remembers of what it did: keys for as long as it says, and everything for whoever looks it up, which may lag behind. */
final class Memory {
    /** Where a path begins so, keys are honoured. */
    static final String KEYED = "/keyed";
    /** For so long from the first arrival; every contract that is declared promises it. */
    static final int WINDOW_SECONDS = 60;

    private static final long WINDOW_NANOS = WINDOW_SECONDS * 1_000_000_000L;

    private final World world;
    private final Plan plan;
    private final Tally tally;
    private final Map<String, Kept> keys = new HashMap<>();
    private final Map<String, List<Done>> done = new HashMap<>();

    Memory(World world, Plan plan, Tally tally) {
        this.world = world;
        this.plan = plan;
        this.tally = tally;
    }

    private record Done(long at, ObjectNode body) {}

    private static final class Kept {
        final long until;
        @Nullable ObjectNode answer;

        Kept(long until) {
            this.until = until;
        }
    }

    /** What is known of a key. */
    sealed interface Seen {
        record Never() implements Seen {}

        record InFlight() implements Seen {}

        record Done(ObjectNode body) implements Seen {}
    }

    /** A request arrived that will be done, unless its key is known. */
    Seen arrives(String key, ObjectNode body) {
        Kept kept = keys.get(key);
        if (kept == null || world.nanos() >= kept.until) {
            if (kept != null) {
                tally.add("provider forgot a key");
            }
            keys.put(key, new Kept(world.nanos() + WINDOW_NANOS));
            return new Seen.Never();
        }
        ObjectNode answer = kept.answer;
        tally.add(answer == null ? "provider has a key in flight" : "provider replays a key");
        return answer == null ? new Seen.InFlight() : new Seen.Done(answer);
    }

    /** It would give a request with this key the answer of an earlier one, or say that that one is under way. */
    boolean remembers(String key) {
        Kept kept = keys.get(key);
        return kept != null && world.nanos() < kept.until;
    }

    void books(@Nullable String key, String target, JsonNode asked, ObjectNode body) {
        Kept kept = key == null ? null : keys.get(key);
        if (kept != null) {
            kept.answer = body;
        }
        done.computeIfAbsent(place(target, asked), place -> new ArrayList<>()).add(new Done(world.nanos(), body));
    }

    /** What is done under one name: the path, the order and the item. */
    static String place(String url, JsonNode body) {
        String path = url.startsWith("/") ? url : url.substring(url.indexOf('/', "http://".length()));
        return path + " " + body.path("order").asString("") + " " + body.path("item").asString("");
    }

    @Nullable ObjectNode done(String place) {
        List<Done> all = done.get(place);
        return all == null ? null : all.getFirst().body;
    }

    /** The look-up: a list of what was done under a name. Null = it hangs up. */
    @Nullable Answer look(String target) {
        Fault fault = plan.at("look", Kind.LOOK_LAGS, Kind.LOOK_DOWN, Kind.LOOK_503, Kind.LOOK_404);
        if (fault != null) {
            tally.add("provider " + fault.kind().name().toLowerCase(Locale.ROOT));
        }
        ObjectNode answer = Json.NODES.objectNode();
        ArrayNode items = answer.putArray("items");
        long seen = world.nanos() - (fault != null && fault.kind() == Kind.LOOK_LAGS ? fault.nanos() : 0);
        String place = SimProvider.query(target, "path") + " " + SimProvider.query(target, "order") + " " + SimProvider.query(target, "item");
        List<Done> all = done.getOrDefault(place, List.of());
        all.stream().filter(one -> one.at <= seen).forEach(one -> items.add(one.body));
        if (items.size() < all.size()) {
            tally.add("provider hides what it did");
        }
        answer.put("count", items.size());
        world.note("provider", "is asked for " + place + ", shows " + items.size() + " of " + all.size() + (fault == null ? "" : "  !" + fault));
        return switch (fault == null ? null : fault.kind()) {
            case LOOK_DOWN -> null;
            case LOOK_503 -> new Answer(503, Map.of(), Json.writeBytes(answer));
            case LOOK_404 -> new Answer(404, Map.of(), Json.writeBytes(Json.NODES.objectNode().put("count", 0)));
            case null, default -> new Answer(200, Map.of(), Json.writeBytes(answer));
        };
    }
}

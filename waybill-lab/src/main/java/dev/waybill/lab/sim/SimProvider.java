package dev.waybill.lab.sim;

import dev.waybill.json.Json;
import dev.waybill.lab.sim.Fault.Kind;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The foreign system with its own ledger, in the form that waybill-check reads. It ignores idempotency keys, so that a second send shows.
 * Before it answers it looks the receipt up in the store by itself.
 */
final class SimProvider {
    private final World world;
    private final Plan plan;
    private final Tally tally;
    private final Function<UUID, String> look;
    private final List<ObjectNode> ledger = new ArrayList<>();
    private final Map<String, ObjectNode> applied = new HashMap<>();
    private final Map<String, Integer> delivered = new HashMap<>();
    private final List<String> violations;
    private boolean weak;
    private long requests;
    private long seq;

    /** @param look the state of a receipt in the store, or absent */
    SimProvider(World world, Plan plan, Tally tally, Function<UUID, String> look, List<String> violations) {
        this.world = world;
        this.plan = plan;
        this.tally = tally;
        this.look = look;
        this.violations = violations;
    }

    /** The database may lose what it has answered: a receipt that is not there may have been there. */
    void weak() {
        weak = true;
    }

    /** A request whose every byte has arrived. */
    record Request(String method, String target, @Nullable String effectId, @Nullable String key, byte @Nullable [] body) {}

    /** What goes back over the wire; null status = the connection is closed without a word. */
    record Answer(int status, Map<String, List<String>> headers, byte[] body) {}

    List<ObjectNode> ledger() {
        return ledger;
    }

    /** What was booked for this receipt, or null. */
    @Nullable ObjectNode application(String effectId) {
        return applied.get(effectId);
    }

    /** @return null when it hangs up without an answer */
    @Nullable Answer receive(Request request) {
        long number = ++requests;
        String effect = request.effectId;
        String seen = effect == null ? "absent" : look.apply(UUID.fromString(effect));
        ObjectNode delivery = line("delivery", number, request).put("seen_state", seen);
        ledger.add(delivery);
        world.note("provider", "gets " + request.target + " of " + effect + ", sees it " + seen);
        if (effect != null && delivered.merge(effect, 1, Integer::sum) > 1) {
            violations.add("receipt " + effect + " was delivered twice");
        }
        if ((seen.equals("absent") && !weak) || seen.equals("planned") || seen.equals("prepared")) {
            violations.add("receipt " + effect + " was delivered and is " + seen);
        }
        Fault fault = plan.at(
                "provider", Kind.APPLY_500, Kind.APPLY_503, Kind.APPLY_HANG_UP, Kind.APPLY_LATE, Kind.APPLY_REDIRECT, Kind.HANG_UP,
                Kind.SAY_500, Kind.SAY_503, Kind.SAY_429, Kind.SAY_402, Kind.SAY_409);
        if (fault == null) {
            return say(number, request, 200, apply(number, request, null));
        }
        String name = fault.kind().name().toLowerCase(java.util.Locale.ROOT);
        delivery.put("fault", name);
        tally.add("provider " + name);
        switch (fault.kind()) {
            case APPLY_500, APPLY_503, APPLY_REDIRECT -> {
                apply(number, request, name);
                int status = fault.kind() == Kind.APPLY_500 ? 500 : fault.kind() == Kind.APPLY_503 ? 503 : 302;
                return say(number, request, status, problem("it went wrong afterwards"));
            }
            case APPLY_HANG_UP -> apply(number, request, name);
            case APPLY_LATE -> world.after(fault.nanos(), () -> apply(number, request, name));
            case HANG_UP -> {}
            case SAY_500 -> {
                return say(number, request, 500, problem("nothing was done"));
            }
            case SAY_503 -> {
                return say(number, request, 503, problem("nothing was done"));
            }
            case SAY_429 -> {
                return say(number, request, 429, problem("too many"));
            }
            case SAY_402 -> {
                return say(number, request, 402, problem("declined"));
            }
            case SAY_409 -> {
                return say(number, request, 409, problem("in flight"));
            }
            default -> throw new IllegalStateException("the provider has no fault " + fault.kind());
        }
        return null;
    }

    private static ObjectNode problem(String message) {
        return Json.NODES.objectNode().put("error", message);
    }

    private ObjectNode apply(long number, Request request, @Nullable String fault) {
        JsonNode body = request.body == null ? Json.NODES.nullNode() : Json.parse(new String(request.body, StandardCharsets.UTF_8));
        ObjectNode booked = Json.NODES.objectNode().put("id", "p-" + number);
        booked.set("echo", body);
        ObjectNode line = line("apply", number, request);
        line.set("answer", booked);
        line.put("fault", fault);
        ledger.add(line);
        if (request.effectId != null) {
            applied.put(request.effectId, booked);
        }
        world.note("provider", "does " + request.target + " of " + request.effectId);
        return booked;
    }

    private Answer say(long number, Request request, int status, ObjectNode body) {
        ObjectNode line = line("answer", number, request);
        line.putObject("answer").put("status", status).put("body", Json.write(body));
        ledger.add(line);
        world.note("provider", "says " + status + " to " + request.effectId);
        byte[] bytes = Json.writeBytes(body);
        return new Answer(
                status,
                Map.of("content-type", List.of("application/json"), "content-length", List.of(Integer.toString(bytes.length))),
                bytes);
    }

    private ObjectNode line(String kind, long number, Request request) {
        String body = request.body == null ? "" : new String(request.body, StandardCharsets.UTF_8);
        return Json.NODES
                .objectNode()
                .put("seq", ++seq)
                .put("at", world.instant().toString())
                .put("kind", kind)
                .put("delivery", number)
                .put("method", request.method)
                .put("path", request.target)
                .put("effect_id", request.effectId)
                .put("idempotency_key", request.key)
                .put("content", request.method + " " + request.target + " " + body)
                .put("connection", number);
    }
}

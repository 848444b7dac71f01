package dev.waybill.lab.sim;

import dev.waybill.json.Json;
import dev.waybill.lab.program.Reaction;
import dev.waybill.lab.program.Script;
import dev.waybill.lab.program.ScriptedProvider;
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
    private final Map<String, Script> scripts = new HashMap<>();
    private final ScriptedProvider scripted = new ScriptedProvider();
    private final Map<String, Integer> bookings = new HashMap<>();
    private final List<String> violations;
    private final @Nullable Memory memory;
    private boolean weak;
    private long requests;
    private long seq;

    /**
     * @param look  the state of a receipt in the store, or absent
     * @param heals it honours keys for a while and can be asked what it did
     */
    SimProvider(World world, Plan plan, Tally tally, Function<UUID, String> look, List<String> violations, boolean heals) {
        this.memory = heals ? new Memory(world, plan, tally) : null;
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

    boolean heals() {
        return memory != null;
    }

    /**
     * What was booked for this receipt, or null; where keys are honoured for the content it asks for, for a resend that was answered from
     * memory booked nothing.
     *
     * @param request as it is frozen on the receipt
     */
    @Nullable ObjectNode application(String effectId, String request) {
        ObjectNode own = applied.get(effectId);
        if (own != null || memory == null) {
            return own;
        }
        JsonNode frozen = Json.parse(request);
        String place = Memory.place(frozen.path("url").asString(""), frozen.path("body"));
        return place.startsWith(Memory.KEYED) ? memory.done(place) : null;
    }

    /** Expects a run of a generated program, which {@code data.run} names. */
    void play(String run, Script script) {
        scripts.put(run, script);
        scripted.play(run, script);
    }

    /** What a person decides about an effect of a generated program, or null when it is of another one. */
    Script.@Nullable Decision decision(String run, String path, UUID receipt) {
        return scripts.containsKey(run) ? scripted.decision(run, path, receipt) : null;
    }

    boolean scriptless() {
        return scripts.isEmpty();
    }

    @Nullable Script script(String run) {
        return scripts.get(run);
    }

    /** How often it was really done, whatever the script wanted. */
    int applied(String run, String at) {
        return bookings.getOrDefault(run + " " + at, 0);
    }

    /**
     * What it makes of a request.
     *
     * @param status 0 = it hangs up
     */
    private record Work(boolean books, int status, ObjectNode body, @Nullable String place) {}

    private Work work(long number, Request request) {
        JsonNode body = request.body == null ? Json.NODES.nullNode() : Json.parse(new String(request.body, StandardCharsets.UTF_8));
        boolean reads = request.effectId == null;
        String run = body.isObject() ? body.path("run").asString("") : query(request.target, "run");
        String at = body.isObject() ? body.path("at").asString("") : query(request.target, "at");
        Script script = scripts.get(run);
        if (script == null) {
            ObjectNode booked = Json.NODES.objectNode().put("id", "p-" + number);
            booked.set("echo", body);
            return new Work(true, 200, booked, null);
        }
        Reaction reaction = scripted.arrives(run, at, reads ? null : UUID.fromString(String.valueOf(request.effectId))).reaction();
        return new Work(reaction.books() && !reads, script.status(at, reaction), script.body(at, reaction), run + " " + at);
    }

    static String query(String target, String name) {
        for (String pair : target.substring(target.indexOf('?') + 1).split("&")) {
            if (pair.startsWith(name + "=")) {
                return java.net.URLDecoder.decode(pair.substring(name.length() + 1), StandardCharsets.UTF_8);
            }
        }
        return "";
    }

    /** @return null when it hangs up without an answer */
    @Nullable Answer receive(Request request) {
        long number = ++requests;
        String effect = request.effectId;
        if (effect == null && memory != null) {
            return memory.look(request.target);
        }
        if (effect == null) {
            Work read = work(number, request);
            return new Answer(read.status, Map.of(), Json.writeBytes(read.body));
        }
        String seen = look.apply(UUID.fromString(effect));
        ObjectNode delivery = line("delivery", number, request).put("seen_state", seen);
        ledger.add(delivery);
        world.note("provider", "gets " + request.target + " of " + effect + ", sees it " + seen);
        if (delivered.merge(effect, 1, Integer::sum) > 1) {
            violations.add("receipt " + effect + " was delivered twice");
        }
        if ((seen.equals("absent") && !weak) || seen.equals("planned") || seen.equals("prepared")) {
            violations.add("receipt " + effect + " was delivered and is " + seen);
        }
        boolean plain = scripts.isEmpty();
        // What a script decides it decides: only what nobody was told of may be added to it.
        Fault fault = plain
                ? plan.at(
                        "provider", Kind.APPLY_500, Kind.APPLY_503, Kind.APPLY_HANG_UP, Kind.APPLY_LATE, Kind.APPLY_REDIRECT, Kind.HANG_UP,
                        Kind.SAY_500, Kind.SAY_503, Kind.SAY_429, Kind.SAY_402, Kind.SAY_409)
                : plan.at("provider", Kind.APPLY_500, Kind.APPLY_HANG_UP, Kind.APPLY_LATE, Kind.APPLY_REDIRECT, Kind.HANG_UP);
        String name = fault == null ? null : fault.kind().name().toLowerCase(java.util.Locale.ROOT);
        if (name != null) {
            delivery.put("fault", name);
            tally.add("provider " + name);
        }
        int no = switch (fault == null ? null : fault.kind()) {
            case HANG_UP -> 0;
            case SAY_500 -> 500;
            case SAY_503 -> 503;
            case SAY_429 -> 429;
            case SAY_402 -> 402;
            case SAY_409 -> 409;
            case null, default -> -1;
        };
        // A busy front stands before the memory and may refuse anything; a verdict on the order itself does not contradict what was done.
        boolean verdict = no == 402 && memory != null && request.key != null && memory.remembers(request.key);
        if (no >= 0 && !verdict) {
            return no == 0 ? null : say(number, request, no, problem("nothing was done"));
        }
        Work work = work(number, request);
        if (memory != null) {
            Answer known = known(memory, number, request, work);
            if (known != null) {
                return known;
            }
        }
        if (fault != null && fault.kind() == Kind.APPLY_LATE) {
            world.after(fault.nanos(), () -> book(number, request, work, name));
            return null;
        }
        book(number, request, work, name);
        return switch (fault == null ? null : fault.kind()) {
            case APPLY_HANG_UP -> null;
            case APPLY_500 -> say(number, request, 500, problem("it went wrong afterwards"));
            case APPLY_503 -> say(number, request, 503, problem("it went wrong afterwards"));
            case APPLY_REDIRECT -> say(number, request, 302, problem("look there"));
            case null, default -> work.status == 0 ? null : say(number, request, work.status, work.body);
        };
    }

    /** What a provider that honours keys says to one that it has seen; null when it has not. */
    private @Nullable Answer known(Memory memory, long number, Request request, Work work) {
        String key = request.key;
        if (key == null || !request.target.startsWith(Memory.KEYED)) {
            return null;
        }
        return switch (memory.arrives(key, work.body)) {
            case Memory.Seen.Never() -> null;
            case Memory.Seen.InFlight() -> say(number, request, 409, problem("a request with this key is under way"));
            case Memory.Seen.Done(ObjectNode body) -> say(number, request, 200, body);
        };
    }

    private static ObjectNode problem(String message) {
        return Json.NODES.objectNode().put("error", message);
    }

    private void book(long number, Request request, Work work, @Nullable String fault) {
        if (!work.books) {
            return;
        }
        ObjectNode line = line("apply", number, request);
        line.set("answer", work.body);
        line.put("fault", fault);
        ledger.add(line);
        if (request.effectId != null) {
            applied.put(request.effectId, work.body);
        }
        if (memory != null) {
            memory.books(request.key, request.target, Json.parse(new String(java.util.Objects.requireNonNull(request.body), StandardCharsets.UTF_8)), work.body);
        }
        if (work.place != null) {
            bookings.merge(work.place, 1, Integer::sum);
        }
        world.note("provider", "does " + request.target + " of " + request.effectId);
    }

    private Answer say(long number, Request request, int status, ObjectNode body) {
        ObjectNode line = line("answer", number, request);
        line.putObject("answer").put("status", status).put("body", Json.write(body));
        ledger.add(line);
        world.note("provider", "says " + status + " to " + request.effectId);
        byte[] bytes = Json.writeBytes(body);
        return new Answer(status, Map.of(), bytes);
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
                // Generated programs give several positions one key; this provider has no use for it, and the interpreter looks at it.
                .put("idempotency_key", scripts.isEmpty() ? request.key : null)
                .put("content", request.method + " " + request.target + " " + body)
                .put("connection", number);
    }
}

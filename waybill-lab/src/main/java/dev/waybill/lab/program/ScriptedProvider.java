package dev.waybill.lab.program;

import dev.waybill.transport.WireAnswer;
import dev.waybill.transport.WireAnswer.Completeness;
import dev.waybill.transport.WireAnswer.Phase;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The provider of programs: answers as the script says and keeps its own ledger. Thread-safe. */
public final class ScriptedProvider {
    /**
     * One line of the ledger.
     *
     * @param receipt null for a read
     * @param begun   place of its arrival in the order of everything that happened here
     */
    public record Request(String run, String path, @Nullable UUID receipt, Reaction reaction, long begun) {}

    private final Map<String, Script> scripts = new HashMap<>();
    private final Map<String, List<Request>> ledger = new HashMap<>();
    private final Map<String, Long> ended = new HashMap<>();
    private long events;

    /** Expects this run. */
    public synchronized void play(String run, Script script) {
        scripts.put(run, script);
    }

    public synchronized void forget(String run) {
        scripts.remove(run);
        ledger.keySet().removeIf(place -> place.startsWith(run + " "));
        ended.keySet().removeIf(place -> place.startsWith(run + " "));
    }

    private static String place(String run, String path) {
        return run + " " + path;
    }

    /** @throws IllegalArgumentException when nobody expects this run, or no effect stands at this path */
    public synchronized Request arrives(String run, String path, @Nullable UUID receipt) {
        Script script = script(run);
        List<Request> requests = ledger.computeIfAbsent(place(run, path), p -> new ArrayList<>());
        Request request = new Request(run, path, receipt, script.reaction(path, requests.size()), ++events);
        requests.add(request);
        return request;
    }

    public synchronized void ends(Request request) {
        ended.put(place(request.run, request.path), ++events);
    }

    private Script script(String run) {
        Script script = scripts.get(run);
        if (script == null) {
            throw new IllegalArgumentException("nobody expects run " + run);
        }
        return script;
    }

    /** What the client sees of it. */
    public synchronized WireAnswer answer(Request request) {
        Script script = script(request.run);
        int status = script.status(request.path, request.reaction);
        byte[] body = script.body(request.path, request.reaction).toString().getBytes(StandardCharsets.UTF_8);
        return switch (request.reaction) {
            case NOT_SENT -> WireAnswer.notSent(WireAnswer.STOP_UNREACHABLE, "connection refused");
            case LOST, LOST_BOOKED, LOST_LEFT, LOST_LEFT_BOOKED ->
                new WireAnswer(Phase.MAYBE_SENT, 0, Map.of(), new byte[0], Completeness.CUT, WireAnswer.STOP_CLOSED, "");
            case BODY_CUT -> new WireAnswer(Phase.ANSWERED, status, Map.of(), new byte[0], Completeness.CUT, WireAnswer.STOP_CUT, "");
            default -> new WireAnswer(Phase.ANSWERED, status, Map.of(), body, Completeness.COMPLETE, "", "");
        };
    }

    public synchronized int applied(String run, String path) {
        return (int) requests(run, path).stream().filter(request -> request.reaction.books()).count();
    }

    synchronized List<Request> requests(String run, String path) {
        return List.copyOf(ledger.getOrDefault(place(run, path), List.of()));
    }

    synchronized @Nullable Long begun(String run, String path) {
        List<Request> requests = requests(run, path);
        return requests.isEmpty() ? null : requests.getFirst().begun;
    }

    synchronized @Nullable Long ended(String run, String path) {
        return ended.get(place(run, path));
    }

    /**
     * What a person decides who looks into this ledger, with the script in mind: what was booked is committed, what was not is sent
     * again, unless the script has other plans for this very request.
     */
    public Script.Decision decision(String run, String path, UUID receipt) {
        Optional<Request> request = requests(run, path).stream().filter(one -> receipt.equals(one.receipt)).findFirst();
        if (request.isEmpty()) {
            return Script.Decision.RESEND;
        }
        Reaction reaction = request.get().reaction;
        return switch (reaction.decision()) {
            case NONE, SUPPLY -> reaction.books() ? Script.Decision.COMMIT : Script.Decision.RESEND;
            default -> reaction.decision();
        };
    }
}

package dev.waybill.check;

import dev.waybill.check.Rows.Call;
import dev.waybill.check.Rows.Move;
import dev.waybill.check.Rows.RunKey;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** L3 and S13: what a client was told has happened is there at the end; what it was refused is not. {@code info} may be either. */
final class NothingLost implements Property {
    @Override
    public String name() {
        return "nothing-lost";
    }

    @Override
    public String promise() {
        return "every acknowledged start, signal and resolution is there; a refused one changed nothing";
    }

    @Override
    public void check(History history, Findings findings) {
        Map<String, Integer> signals = new HashMap<>();
        Map<String, List<Call>> resolutions = new LinkedHashMap<>();
        for (Call call : history.client) {
            RunKey key = new RunKey(call.tenantOrDefault(), call.id() == null ? "" : call.id());
            if (call.op().equals("resolve")) {
                resolutions.computeIfAbsent(String.valueOf(call.effect()), effect -> new ArrayList<>()).add(call);
            } else if (call.op().equals("start") && call.ok()) {
                RunStory story = history.run(key);
                findings.expect(story != null && story.run != null, Subject.of(key), "the start was acknowledged, but there is no " + key);
            } else if (call.op().equals("signal") && call.ok()) {
                int asked = signals.merge(key + " " + call.signal(), 1, Integer::sum);
                findings.expect(
                        happened(history, key, "run." + call.signal()) >= asked, Subject.of(key),
                        "signal " + call.signal() + " was acknowledged " + asked + " times and is not in the store as often");
            }
        }
        resolutions.forEach((effect, calls) -> resolved(history, effect, calls, resolutions, findings));
    }

    private static long happened(History history, RunKey key, String event) {
        RunStory story = history.run(key);
        List<Rows.Event> events = story == null ? List.of() : story.events;
        return events.stream().filter(one -> one.type().equals(event)).count();
    }

    /** Each acknowledged resolution has a move of its own, and there is no move by a person that nobody may have asked for. */
    private static void resolved(
            History history, String effect, List<Call> calls, Map<String, List<Call>> resolutions, Findings findings) {
        Attempt attempt = history.attempt(effect);
        if (attempt == null) {
            findings.expect(calls.stream().noneMatch(Call::ok), Subject.effect(effect), "a resolution was acknowledged of an effect that is not there");
            return;
        }
        List<String> moved = attempt.moves().stream()
                .filter(move -> move.byPerson() && !move.fromState().equals(move.toState()))
                .map(Move::toState)
                .toList();
        List<String> acknowledged = calls.stream().filter(Call::ok).map(call -> String.valueOf(call.state())).toList();
        List<String> missing = new ArrayList<>(acknowledged);
        moved.forEach(missing::remove);
        findings.expect(missing.isEmpty(), Subject.of(attempt), "resolutions to " + missing + " were acknowledged and are not in the journal");
        // Whoever resolves one receipt of a chain resolves the others of the effect in the same transaction.
        long possible = history.attempts().stream()
                .filter(other -> other.receipt().instanceId().equals(attempt.receipt().instanceId()) && other.receipt().path().equals(attempt.receipt().path()))
                .flatMap(other -> resolutions.getOrDefault(other.receipt().id(), List.of()).stream())
                .filter(call -> !call.result().equals("fail"))
                .count();
        findings.expect(
                moved.size() <= possible, Subject.of(attempt),
                attempt + " was moved by a person to " + moved + ", but all except " + possible + " resolutions were refused");
    }
}

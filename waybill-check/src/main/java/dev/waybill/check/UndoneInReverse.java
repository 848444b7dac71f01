package dev.waybill.check;

import dev.waybill.check.Rows.Move;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import tools.jackson.databind.JsonNode;

/** S19, case A20: only what is proven is undone, by an effect of its own, and what was done last is undone first. */
final class UndoneInReverse implements Property {
    @Override
    public String name() {
        return "undone-in-reverse";
    }

    @Override
    public String promise() {
        return "a saga undoes only what is proven, each by a receipt of its own, in reverse; nothing is compensated before that receipt is settled";
    }

    @Override
    public void check(History history, Findings findings) {
        for (RunStory story : history.runs()) {
            sagas(story, story.document().path("blocks"), 0, findings);
        }
    }

    private static void sagas(RunStory story, JsonNode node, int depth, Findings findings) {
        String type = node.path("type").asString("");
        if (type.equals("saga")) {
            Set<String> prefixes = new HashSet<>();
            Set<String> ids = new HashSet<>();
            RecordedValues.blockIds(node, ids);
            story.effects.keySet().stream().filter(path -> ids.contains(step(path))).forEach(path -> prefixes.add(prefix(path, depth)));
            prefixes.forEach(prefix -> saga(story, node.path("steps"), prefix, findings));
        }
        int inside = type.equals("for_each") || type.equals("loop") ? depth + 1 : depth;
        node.forEach(child -> sagas(story, child, inside, findings));
    }

    private static void saga(RunStory story, JsonNode steps, String prefix, Findings findings) {
        for (int i = 0; i < steps.size(); i++) {
            List<Attempt> done = attempts(story, steps.get(i).path("action"), prefix);
            List<Attempt> undo = attempts(story, steps.get(i).path("compensation"), prefix);
            for (Attempt attempt : done) {
                Move undone = attempt.firstTo("compensated");
                if (undone != null && undone.actor().equals("compensation") && !story.compensates(attempt)) {
                    findings.expect(
                            undo.stream().anyMatch(one -> one.firstApplied() instanceof Move applied && !applied.at().isAfter(undone.at())),
                            Subject.of(attempt), attempt + " is compensated, and no receipt of its compensation says that it happened");
                }
            }
            for (Attempt attempt : undo) {
                Instant sent = attempt.receipt().at();
                findings.expect(
                        done.isEmpty() || proven(done, sent), Subject.of(attempt), attempt + " was sent when what it undoes was not certain to have happened");
                for (int j = i + 1; j < steps.size(); j++) {
                    boolean waits = attempt.receipt().attempt() == 0 && proven(attempts(story, steps.get(j).path("action"), prefix), sent)
                            && steps.get(j).has("compensation") && steps.get(j).path("compensation").path("type").asString("").equals("step");
                    String later = prefix + steps.get(j).path("compensation").path("id").asString("");
                    Instant begun = story.begin(later);
                    findings.expect(
                            !waits || begun != null && !begun.isAfter(sent), Subject.of(attempt),
                            attempt + " was sent before " + later + ", which undoes what was done after it");
                }
            }
        }
    }

    private static boolean proven(List<Attempt> attempts, Instant at) {
        List<String> states = attempts.stream().filter(one -> !one.receipt().at().isAfter(at)).map(one -> one.stateAt(at)).toList();
        return states.stream().anyMatch(state -> state.equals("committed") || state.equals("verified"))
                && states.stream().noneMatch(state -> state.equals("unknown") || state.equals("dispatched"));
    }

    private static List<Attempt> attempts(RunStory story, JsonNode block, String prefix) {
        Set<String> ids = new HashSet<>();
        RecordedValues.blockIds(block, ids);
        return story.attempts().stream()
                .filter(one -> one.receipt().path().startsWith(prefix) && ids.contains(step(one.receipt().path())))
                .toList();
    }

    private static String step(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    private static String prefix(String path, int depth) {
        int end = 0;
        for (int i = 0; i < depth; i++) {
            end = path.indexOf('/', end) + 1;
        }
        return path.substring(0, end);
    }
}

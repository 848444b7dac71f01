package dev.waybill.check;

import dev.waybill.check.Rows.Fault;
import dev.waybill.check.Rows.Line;
import dev.waybill.check.Rows.Move;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import tools.jackson.databind.JsonNode;

/**
 * L2. Counted from the last fault that struck the sender's node (or everybody) and the last sign of the request at the provider; where
 * the sender lives, from the end of the step's timeout.
 */
final class Visible implements Property {
    private static final Duration DEFAULT_SETTLE = Duration.ofSeconds(60);

    @Override
    public String name() {
        return "visible";
    }

    @Override
    public String promise() {
        return "an effect that nobody can answer for is unknown in the ledger within the bound";
    }

    @Override
    public void check(History history, Findings findings) {
        for (RunStory story : history.runs()) {
            for (Attempt attempt : story.attempts()) {
                Move unknown = attempt.firstTo("unknown");
                boolean open = attempt.state().equals("dispatched");
                if (unknown == null && !open) {
                    continue;
                }
                Instant seen = unknown == null ? history.last.at : unknown.at();
                Instant from = countedFrom(history, story, attempt, seen, unknown != null && unknown.actor().equals("recovery"));
                Instant bound = from.plus(history.settings.visible());
                findings.expect(
                        !seen.isAfter(bound), Subject.of(attempt),
                        attempt + (open ? " was still dispatched at " : " became unknown only at ") + seen + ", counted from " + from);
            }
        }
    }

    private static Instant countedFrom(History history, RunStory story, Attempt attempt, Instant seen, boolean recovered) {
        Instant sent = attempt.receipt().at();
        List<Fault> struck = history.faultsOf(attempt.receipt().nodeId()).stream()
                .filter(fault -> !fault.end().isBefore(sent) && !fault.at().isAfter(seen))
                .toList();
        Instant from = struck.stream().map(Fault::end).max(Comparator.naturalOrder()).orElse(sent);
        for (Line line : history.lines(attempt.receipt().id())) {
            from = line.delivered() && line.at().isAfter(from) ? line.at() : from;
        }
        Instant over = attempt.receipt().quietAt().minus(settle(story.document(), attempt.receipt().path()));
        return (recovered && !struck.isEmpty()) || from.isAfter(over) ? from : over;
    }

    private static Duration settle(JsonNode document, String path) {
        String id = path.substring(path.lastIndexOf('/') + 1);
        JsonNode step = find(document.path("blocks"), id);
        JsonNode settle = step.path("effect").path("settle");
        if (settle.isIntegralNumber()) {
            return Duration.ofMillis(settle.asLong());
        }
        String text = settle.asString("");
        if (text.startsWith("P")) {
            return Duration.parse(text);
        }
        return text.matches("\\d+(ms|s|m|h)")
                ? Duration.parse(text.endsWith("ms") ? "PT" + Integer.parseInt(text.substring(0, text.length() - 2)) / 1_000.0 + "S" : "PT" + text)
                : DEFAULT_SETTLE;
    }

    private static JsonNode find(JsonNode node, String id) {
        if (node.path("id").asString("").equals(id)) {
            return node;
        }
        for (JsonNode member : node) {
            JsonNode found = find(member, id);
            if (!found.isMissingNode()) {
                return found;
            }
        }
        return Json.parse(null);
    }
}

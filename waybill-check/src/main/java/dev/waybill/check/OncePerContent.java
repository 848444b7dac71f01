package dev.waybill.check;

import dev.waybill.check.Rows.Line;
import dev.waybill.check.Rows.RunKey;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * S4 by content: where the sequence declares {@code effect_at_most_once} for the kind with {@code commit_guard} (semantics.md section 6),
 * or where the workload is known to ask for nothing twice. That needs no header of ours: it would also see a sender that lies about ids.
 */
final class OncePerContent implements Property {
    @Override
    public String name() {
        return "once-per-content";
    }

    @Override
    public String promise() {
        return "what is guarded by content is applied at most once, whichever run asks";
    }

    @Override
    public void check(History history, Findings findings) {
        Map<String, Map<String, Integer>> applied = new LinkedHashMap<>();
        for (Line line : history.ledger) {
            if (!line.applied() || line.content() == null || OncePerKey.excused(history, line)) {
                continue;
            }
            String scope = history.settings.uniqueContent() ? "*" : scope(history, line);
            if (scope != null) {
                applied.computeIfAbsent(scope, s -> new LinkedHashMap<>()).merge(line.content(), 1, Integer::sum);
            }
        }
        applied.values().forEach(contents -> contents.forEach((content, times) -> findings.expect(
                times == 1, Subject.key(content), content + " was applied " + times + " times")));
    }

    /** Within what the content may happen once, or null when nothing guards it. */
    private static @Nullable String scope(History history, Line line) {
        Attempt attempt = history.attempt(line.effectId());
        if (attempt == null) {
            return null;
        }
        RunKey key = attempt.receipt().run();
        RunStory story = history.run(key);
        JsonNode invariants = story == null ? Json.parse(null) : story.document().path("invariants");
        for (JsonNode invariant : invariants) {
            JsonNode rule = invariant.path("rule");
            if (rule.path("type").asString("").equals("effect_at_most_once")
                    && invariant.path("commit_guard").asBoolean(false)
                    && rule.path("kind").asString("").equals(attempt.receipt().kind())) {
                boolean tenant = rule.path("scope").asString("execution").equals("tenant");
                return key.tenant() + (tenant ? "" : " " + attempt.receipt().executionId());
            }
        }
        return null;
    }
}

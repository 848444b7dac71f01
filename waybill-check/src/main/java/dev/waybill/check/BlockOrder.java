package dev.waybill.check;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** S11 by the reference interpreter; runs whose sequence it does not understand are not looked at. */
final class BlockOrder implements Property {
    /** Ends that are no block's failure: a policy, or the engine refusing its own rows. */
    private static final Set<String> NO_BLOCK_FAILED = Set.of("EFFECT_BLOCKED", "INVALID_CONFIG");

    @Override
    public String name() {
        return "block-order";
    }

    @Override
    public String promise() {
        return "what ran, in which order, and how it ended is what an independent interpreter makes of the sequence";
    }

    @Override
    public void check(History history, Findings findings) {
        for (RunStory story : history.runs()) {
            Reference reference = story.reference();
            if (reference.unsupported != null || story.run == null) {
                continue;
            }
            for (int i = 0; i < reference.positions + reference.decisions; i++) {
                findings.looked();
            }
            for (Reference.Finding finding : reference.findings) {
                if (finding.kind() != Reference.Kind.UNSETTLED_PREDECESSOR) {
                    findings.violation(Subject.of(story.key, finding.path()), finding.message());
                }
            }
            String fault = fault(story.run, reference.status);
            findings.expect(fault == null, Subject.of(story.key), String.valueOf(fault));
        }
    }

    private static @Nullable String fault(Rows.Run run, Reference.Status status) {
        return switch (run.state()) {
            case "completed" -> status instanceof Reference.Status.Done ? null : "the run is completed, but " + status;
            case "failed" -> {
                JsonNode code = Json.parse(run.outcome()).path("error").path("code");
                yield status instanceof Reference.Status.Failed || NO_BLOCK_FAILED.contains(code.asString(""))
                        ? null
                        : "the run is failed, but " + status;
            }
            case "waiting" -> status instanceof Reference.Status.Open || crashLoop(run) ? null : "the run waits, but " + status;
            default -> null;
        };
    }

    private static boolean crashLoop(Rows.Run run) {
        return run.reasons() != null && run.reasons().contains("crash_loop");
    }
}

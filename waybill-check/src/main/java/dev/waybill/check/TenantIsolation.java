package dev.waybill.check;

import java.util.HashMap;
import java.util.Map;

/** S16, as far as rows show it: everything belongs to a run of the same tenant. */
final class TenantIsolation implements Property {
    @Override
    public String name() {
        return "tenant-isolation";
    }

    @Override
    public String promise() {
        return "every row belongs to a run of its own tenant, every run to a sequence of its own tenant";
    }

    @Override
    public void check(History history, Findings findings) {
        Map<String, String> tenants = new HashMap<>();
        for (RunStory story : history.runs()) {
            String first = tenants.putIfAbsent(story.key.id(), story.key.tenant());
            findings.expect(
                    story.run != null && (first == null || first.equals(story.key.tenant())), Subject.of(story.key),
                    story.run == null
                            ? "rows of tenant " + story.key.tenant() + " name " + story.key + ", which it does not have"
                            : "the run exists for the tenants " + first + " and " + story.key.tenant());
            if (story.run != null) {
                findings.expect(
                        story.sequence != null, Subject.of(story.key),
                        "tenant " + story.key.tenant() + " has no sequence " + story.run.sequenceId());
            }
        }
    }
}

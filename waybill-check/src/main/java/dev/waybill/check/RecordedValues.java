package dev.waybill.check;

import dev.waybill.check.Rows.BlockRow;
import dev.waybill.check.Rows.Move;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** What expressions of a run can name: its data and the outputs that were recorded. */
final class RecordedValues {
    private final RunStory story;
    private final JsonNode context;
    private final Set<String> ids = new HashSet<>();

    RecordedValues(RunStory story) {
        this.story = story;
        this.context = Json.parse(story.run == null ? null : story.run.context());
        blockIds(story.document().path("blocks"), ids);
    }

    /** Ids of this block and all blocks within. */
    static void blockIds(JsonNode node, Set<String> ids) {
        if (node.has("type") && node.path("id").isString()) {
            ids.add(node.path("id").asString());
        }
        if (node.isContainer()) {
            node.forEach(member -> blockIds(member, ids));
        }
    }

    /**
     * @param prefix of the innermost iteration
     * @param variables of the loops around; a missing one is there, but its value is not known here
     * @return null when the value is not known here
     */
    @Nullable JsonNode root(String name, String prefix, Map<String, JsonNode> variables) {
        JsonNode variable = variables.get(name);
        if (variable != null) {
            return variable.isMissingNode() ? null : variable;
        }
        return switch (name) {
            case "data", "payload", "input" -> context.path("data");
            case "config" -> context.path("config");
            case "context" -> context;
            case "outputs", "steps" -> outputs(prefix);
            default -> null;
        };
    }

    /** By block id, looked up from the innermost iteration outwards. */
    private ObjectNode outputs(String prefix) {
        ObjectNode all = Json.MAPPER.createObjectNode();
        for (String id : ids) {
            String around = prefix;
            JsonNode output = output(around + id);
            while (output.isMissingNode() && !around.isEmpty()) {
                around = around.substring(0, around.lastIndexOf('/', around.length() - 2) + 1);
                output = output(around + id);
            }
            if (!output.isMissingNode()) {
                all.set(id, output);
            }
        }
        return all;
    }

    private JsonNode output(String path) {
        BlockRow row = story.lastRow(path);
        if (row != null && row.kind().equals("output")) {
            return Json.parse(row.body());
        }
        List<Attempt> attempts = story.attempts(path);
        for (Attempt attempt : attempts.reversed()) {
            Move last = attempt.last();
            if (attempt.applied() && last != null && last.output() != null) {
                return Json.parse(last.output());
            }
        }
        return Json.parse(null);
    }
}

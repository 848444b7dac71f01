package dev.waybill.check;

import dev.waybill.check.Rows.RunKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** S9 and S18, by two dumps: the later one holds every row of the earlier one byte for byte. */
final class AppendOnly implements Property {
    /** Tables that only grow, with the columns of their keys. */
    private static final Map<String, List<String>> GROWING = Map.of(
            "receipts", List.of("tenant_id", "instance_id", "path", "attempt"),
            "journal", List.of("tenant_id", "instance_id", "path", "attempt", "n"),
            "block_outputs", List.of("tenant_id", "instance_id", "path", "n"),
            "evidence", List.of("tenant_id", "instance_id", "path", "attempt", "seq"),
            "sequences", List.of("tenant_id", "id"));

    /** What of a run never changes. */
    private static final List<String> FIXED = List.of("execution_id", "sequence_id", "created_at", "context", "dedup_key", "metadata");

    @Override
    public String name() {
        return "append-only";
    }

    @Override
    public String promise() {
        return "receipts, journal, evidence, outputs and definitions are never rewritten or deleted; what has ended stays ended";
    }

    @Override
    public void check(History history, Findings findings) {
        for (int i = 1; i < history.dumps.size(); i++) {
            Dump earlier = history.dumps.get(i - 1);
            Dump later = history.dumps.get(i);
            GROWING.forEach((table, key) -> grows(table, key, earlier, later, findings));
            runs(earlier, later, findings);
        }
    }

    private static void grows(String table, List<String> key, Dump earlier, Dump later, Findings findings) {
        Map<String, ObjectNode> now = index(later.raw(table), key);
        index(earlier.raw(table), key).forEach((id, row) -> {
            ObjectNode there = now.get(id);
            findings.expect(
                    row.equals(there), subject(row),
                    "the row " + id + " of " + table + " was " + (there == null ? "deleted" : "rewritten: " + difference(row, there)));
        });
    }

    private static void runs(Dump earlier, Dump later, Findings findings) {
        Map<String, ObjectNode> now = index(later.raw("instances"), List.of("tenant_id", "id"));
        index(earlier.raw("instances"), List.of("tenant_id", "id")).forEach((id, row) -> {
            ObjectNode there = now.get(id);
            Subject subject = Subject.of(new RunKey(row.path("tenant_id").asString(""), row.path("id").asString("")));
            String before = row.path("state").asString("");
            if (there == null) {
                findings.expect(false, subject, "the run was deleted");
                return;
            }
            boolean ended = before.equals("completed") || before.equals("cancelled");
            findings.expect(
                    !ended || before.equals(there.path("state").asString("")), subject,
                    "the run was " + before + " and is " + there.path("state").asString(""));
            for (String column : FIXED) {
                findings.expect(row.path(column).equals(there.path(column)), subject, "the run's " + column + " was changed");
            }
        });
    }

    private static Subject subject(ObjectNode row) {
        String instance = row.path("instance_id").asString("");
        return instance.isEmpty()
                ? Subject.key(row.path("id").asString(""))
                : Subject.of(new RunKey(row.path("tenant_id").asString(""), instance), row.path("path").asString(""));
    }

    private static String difference(ObjectNode before, ObjectNode after) {
        StringBuilder names = new StringBuilder();
        for (Map.Entry<String, JsonNode> member : before.properties()) {
            if (!member.getValue().equals(after.get(member.getKey()))) {
                names.append(names.isEmpty() ? "" : ", ").append(member.getKey());
            }
        }
        return names.isEmpty() ? "columns were added" : names.toString();
    }

    private static Map<String, ObjectNode> index(List<ObjectNode> rows, List<String> key) {
        Map<String, ObjectNode> index = new HashMap<>();
        for (ObjectNode row : rows) {
            StringBuilder id = new StringBuilder();
            key.forEach(column -> id.append(id.isEmpty() ? "" : " ").append(row.path(column).asString("")));
            index.put(id.toString(), row);
        }
        return index;
    }
}

package dev.waybill.check;

import dev.waybill.check.Rows.Call;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** S7: the database decides, so all who gave a key were told one run, and one run has it. */
final class OneRunPerKey implements Property {
    @Override
    public String name() {
        return "one-run-per-key";
    }

    @Override
    public String promise() {
        return "one start key makes one run, whoever asks how often";
    }

    @Override
    public void check(History history, Findings findings) {
        Map<String, Set<String>> told = new LinkedHashMap<>();
        Set<String> notRefused = new HashSet<>();
        Set<String> asked = new HashSet<>();
        for (Call call : history.client) {
            if (call.op().equals("start") && call.key() != null) {
                String key = call.tenantOrDefault() + " " + call.key();
                asked.add(key);
                if (!call.result().equals("fail")) {
                    notRefused.add(key);
                }
                if (call.ok() && call.id() != null) {
                    told.computeIfAbsent(key, k -> new HashSet<>()).add(call.id());
                }
            }
        }
        Map<String, Set<String>> held = new LinkedHashMap<>();
        for (Rows.Run run : history.last.runs) {
            if (run.dedupKey() != null) {
                held.computeIfAbsent(run.tenantId() + " " + run.dedupKey(), k -> new HashSet<>()).add(run.id());
            }
        }
        told.forEach((key, ids) -> findings.expect(ids.size() == 1, subject(key), "callers with key " + key + " were told the runs " + ids));
        held.forEach((key, ids) -> {
            findings.expect(ids.size() == 1, subject(key), "key " + key + " made the runs " + ids);
            findings.expect(
                    !asked.contains(key) || notRefused.contains(key), subject(key), "every start with key " + key + " was refused, but there is a run");
        });
        history.last.dedupKeys.forEach(row -> {
            Set<String> ids = told.get(row.tenantId() + " " + row.key());
            findings.expect(
                    ids == null || ids.contains(row.instanceId()), Subject.key(row.key()),
                    "key " + row.key() + " stands for run " + row.instanceId() + ", callers were told " + ids);
        });
    }

    private static Subject subject(String tenantAndKey) {
        return Subject.key(tenantAndKey.substring(tenantAndKey.indexOf(' ') + 1));
    }
}

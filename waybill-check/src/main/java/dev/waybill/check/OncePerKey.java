package dev.waybill.check;

import dev.waybill.check.Rows.Line;
import java.util.LinkedHashMap;
import java.util.Map;

/** S4 by idempotency key, whoever sent it. */
final class OncePerKey implements Property {
    @Override
    public String name() {
        return "once-per-key";
    }

    @Override
    public String promise() {
        return "one idempotency key is applied at most once";
    }

    @Override
    public void check(History history, Findings findings) {
        Map<String, Integer> applied = new LinkedHashMap<>();
        for (Line line : history.ledger) {
            if (line.applied() && line.idempotencyKey() != null && !excused(history, line)) {
                applied.merge(line.idempotencyKey(), 1, Integer::sum);
            }
        }
        applied.forEach((key, times) -> findings.expect(times == 1, Subject.key(key), "key " + key + " was applied " + times + " times"));
    }

    static boolean excused(History history, Line line) {
        Attempt attempt = history.attempt(line.effectId());
        return attempt != null && OncePerEffect.excused(attempt, line);
    }
}

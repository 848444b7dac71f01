package dev.waybill.check;

import dev.waybill.check.Rows.Line;
import java.util.LinkedHashMap;
import java.util.Map;

/** S1. A middlebox's own copies are told apart by their tag. */
final class OneDelivery implements Property {
    @Override
    public String name() {
        return "one-delivery";
    }

    @Override
    public String promise() {
        return "one receipt is sent at most once";
    }

    @Override
    public void check(History history, Findings findings) {
        Map<String, Integer> sent = new LinkedHashMap<>();
        for (Line line : history.ledger) {
            if (line.delivered() && line.effectId() != null && !"middlebox_dup".equals(line.fault())) {
                sent.merge(line.effectId(), 1, Integer::sum);
            }
        }
        sent.forEach((effect, times) -> {
            Attempt attempt = history.attempt(effect);
            findings.expect(
                    times == 1, attempt == null ? Subject.effect(effect) : Subject.of(attempt), "receipt " + effect + " was sent " + times + " times");
        });
    }
}

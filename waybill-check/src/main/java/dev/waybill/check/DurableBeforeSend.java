package dev.waybill.check;

import dev.waybill.check.Rows.Line;
import dev.waybill.check.Rows.Move;
import java.time.Instant;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * S2. What the provider saw in the store at the moment of arrival counts most; without it the receipt must be there at the end and be
 * older than the delivery.
 */
final class DurableBeforeSend implements Property {
    private static final Set<String> TOO_EARLY = Set.of("absent", "planned", "prepared");

    @Override
    public String name() {
        return "durable-before-send";
    }

    @Override
    public String promise() {
        return "nothing is sent before its receipt is durably dispatched";
    }

    @Override
    public void check(History history, Findings findings) {
        for (Line line : history.ledger) {
            if (!line.delivered() || (line.effectId() == null && reads(line))) {
                continue;
            }
            Attempt attempt = history.attempt(line.effectId());
            String fault = fault(history, line, attempt);
            findings.expect(fault == null, attempt == null ? Subject.effect(line.effectId()) : Subject.of(attempt), String.valueOf(fault));
        }
    }

    private static boolean reads(Line line) {
        return "GET".equals(line.method()) || "HEAD".equals(line.method());
    }

    private static @Nullable String fault(History history, Line line, @Nullable Attempt attempt) {
        if (line.effectId() == null) {
            return "delivery " + line.delivery() + " (" + line.method() + " " + line.path() + ") carries no receipt id";
        }
        if (line.seenState() != null && TOO_EARLY.contains(line.seenState())) {
            return "when it arrived, the provider saw the receipt " + line.seenState();
        }
        if (attempt == null) {
            return "delivery " + line.delivery() + " has no receipt";
        }
        Instant durable = attempt.receipt().at();
        if (attempt.receipt().state().equals("prepared")) {
            Move dispatched = attempt.firstTo("dispatched");
            if (dispatched == null) {
                return "the receipt is only prepared, but it was delivered";
            }
            durable = dispatched.at();
        }
        return line.at().isBefore(durable.minus(history.settings.skew()))
                ? "it was delivered at " + line.at() + ", the receipt is of " + durable
                : null;
    }
}

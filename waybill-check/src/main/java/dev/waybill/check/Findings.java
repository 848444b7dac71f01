package dev.waybill.check;

import dev.waybill.check.Property.Subject;
import java.util.ArrayList;
import java.util.List;

/** What one property found. */
final class Findings {
    /** A counterexample. */
    record Violation(Subject subject, String message) {}

    private final List<Violation> violations = new ArrayList<>();
    private int looked;

    /** One thing of the kind the property speaks of was there to look at. */
    void looked() {
        looked++;
    }

    void violation(Subject subject, String message) {
        violations.add(new Violation(subject, message));
    }

    /** Looked at one thing, and it holds or not. */
    void expect(boolean holds, Subject subject, String message) {
        looked();
        if (!holds) {
            violation(subject, message);
        }
    }

    int lookedAt() {
        return looked;
    }

    List<Violation> violations() {
        return violations;
    }
}

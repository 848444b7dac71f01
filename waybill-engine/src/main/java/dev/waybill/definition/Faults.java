package dev.waybill.definition;

import java.util.ArrayList;
import java.util.List;

/** Collects faults and warnings while a document is read. */
final class Faults {
    /** A document with more is hopeless, and a hostile one could list megabytes. */
    private static final int MAX = 200;

    private final List<Fault> faults = new ArrayList<>();
    private final List<Fault> warnings = new ArrayList<>();
    private final List<Validation.StepGuarantee> guarantees = new ArrayList<>();

    void add(String code, String pointer, String message) {
        add(new Fault(code, pointer, message));
    }

    void add(Fault fault) {
        if (faults.size() < MAX) {
            faults.add(fault);
        }
    }

    void guarantee(String step, Guarantee guarantee) {
        guarantees.add(new Validation.StepGuarantee(step, guarantee));
    }

    void warn(String code, String pointer, String message) {
        if (warnings.size() < MAX) {
            warnings.add(new Fault(code, pointer, message));
        }
    }

    Validation result() {
        return new Validation(List.copyOf(faults), List.copyOf(warnings), List.copyOf(guarantees));
    }
}

package dev.waybill.lab.sim;

import java.util.List;
import java.util.Map;

/**
 * What one simulation came to.
 *
 * @param hash       of everything that happened, in order: the same for the same options
 * @param violations what did not hold, in words; empty = all is well
 * @param faults     what went wrong on purpose, in the form that {@link SimOptions#faults} takes
 * @param reached    dangerous situations and how often they came up
 * @param steps      times that a thread ran
 * @param seconds    simulated
 * @param chart      who said what to whom, when it was asked for
 */
public record SimResult(
        SimOptions options,
        long hash,
        List<String> violations,
        List<String> faults,
        Map<String, Long> reached,
        long steps,
        double seconds,
        List<String> chart) {
    /** From what {@link Simulation#report} said in another class loader. */
    @SuppressWarnings("unchecked")
    static SimResult of(SimOptions options, Map<String, Object> report) {
        return new SimResult(
                options, (Long) part(report, "hash"), (List<String>) part(report, "violations"), (List<String>) part(report, "faults"),
                (Map<String, Long>) part(report, "reached"), (Long) part(report, "steps"), (Double) part(report, "seconds"),
                (List<String>) part(report, "chart"));
    }

    private static Object part(Map<String, Object> report, String name) {
        return java.util.Objects.requireNonNull(report.get(name), name);
    }

    public boolean clean() {
        return violations.isEmpty();
    }
}

package dev.waybill.lab.sim;

import java.util.ArrayList;
import java.util.List;

/** Delta debugging: the same seed with fewer and fewer faults, as long as it still goes wrong. */
public final class Shrink {
    private static final int MAX_RUNS = 400;
    private static final long MAX_NANOS = 60_000_000_000L;

    private Shrink() {}

    /** @return a run that goes wrong with as few of the faults as could be found, with its chart */
    public static SimResult of(SimResult failed) {
        List<String> faults = failed.faults();
        int runs = 0;
        long until = System.nanoTime() + MAX_NANOS;
        int chunk = Math.max(1, faults.size() / 2);
        while (runs < MAX_RUNS && System.nanoTime() < until) {
            boolean less = false;
            for (int from = 0; from < faults.size() && runs < MAX_RUNS && System.nanoTime() < until; ) {
                List<String> without = new ArrayList<>(faults);
                without.subList(from, Math.min(faults.size(), from + chunk)).clear();
                runs++;
                if (Simulation.run(failed.options().with(without, false)).clean()) {
                    from += chunk;
                } else {
                    faults = without;
                    less = true;
                }
            }
            if (chunk > 1) {
                chunk /= 2;
            } else if (!less) {
                break;
            }
        }
        return Simulation.run(failed.options().with(faults, true));
    }
}

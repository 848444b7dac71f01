package dev.waybill.lab.sim;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One simulation.
 *
 * @param liveness true: at the end of the faults one node, the store and the provider are healed and everything else stays as it is for
 *                 ever; false: everything is healed
 * @param faults   exactly these instead of those the seed draws, or null
 * @param charted  keep a message chart
 */
public record SimOptions(long seed, boolean liveness, @Nullable List<String> faults, boolean charted) {
    public static SimOptions of(long seed) {
        return new SimOptions(seed, false, null, false);
    }

    public SimOptions with(List<String> onlyThese, boolean chart) {
        return new SimOptions(seed, liveness, onlyThese, chart);
    }

    public SimOptions live() {
        return new SimOptions(seed, true, faults, charted);
    }
}

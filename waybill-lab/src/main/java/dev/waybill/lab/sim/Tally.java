package dev.waybill.lab.sim;

import dev.waybill.engine.Meter;
import java.util.Map;
import java.util.TreeMap;

/** Which dangerous situations a run came into, and how often: a run that never was in danger proves nothing. */
final class Tally implements Meter {
    private final Map<String, Long> counts = new TreeMap<>();

    void add(String situation) {
        counts.merge(situation, 1L, Long::sum);
    }

    Map<String, Long> counts() {
        return counts;
    }

    @Override
    public void count(String name, long by, String... labels) {
        StringBuilder key = new StringBuilder("engine ").append(name.replace("waybill_", "").replace("_total", ""));
        for (int i = 0; i < labels.length; i += 2) {
            if (!labels[i].equals("kind")) {
                key.append(' ').append(labels[i + 1]);
            }
        }
        counts.merge(key.toString(), by, Long::sum);
    }

    @Override
    public void record(String name, double value, String... labels) {}
}

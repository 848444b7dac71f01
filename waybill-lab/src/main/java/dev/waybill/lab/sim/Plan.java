package dev.waybill.lab.sim;

import dev.waybill.lab.sim.Fault.Kind;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Decides what goes wrong, and writes it down. By the seed: each seed has a swarm of its own, some kinds not at all and others often.
 * Or by a list: then exactly these, and the rest of the run is drawn as it was.
 */
final class Plan {
    private final SplittableRandom random;
    private final Map<Kind, Integer> rates = new EnumMap<>(Kind.class);
    private final @Nullable Map<String, Fault> given;
    private final Map<String, Integer> passed = new HashMap<>();
    private final List<Fault> fired = new ArrayList<>();
    private boolean over;

    Plan(SplittableRandom random, @Nullable List<Fault> given) {
        this.random = random;
        for (Kind kind : Kind.values()) {
            if (kind.compareTo(Kind.LOOK_LAGS) < 0) {
                draw(kind, random);
            }
        }
        if (given == null) {
            this.given = null;
        } else {
            this.given = new HashMap<>();
            given.forEach(fault -> this.given.put(fault.site() + "#" + fault.occurrence(), fault));
        }
    }

    /** How often a kind goes wrong in this world. */
    void draw(Kind kind, SplittableRandom from) {
        int times = from.nextInt(4);
        rates.put(kind, kind.rate * times * times / 3);
    }

    void set(Kind kind, int rate) {
        rates.put(kind, rate);
    }

    /** From here on nothing goes wrong. */
    void heal() {
        over = true;
    }

    List<Fault> fired() {
        return fired;
    }

    /** Something comes by; at most one of these goes wrong. */
    @Nullable Fault at(String site, Kind... kinds) {
        if (over) {
            return null;
        }
        int occurrence = passed.merge(site, 1, Integer::sum);
        Fault fault = given == null ? drawn(site, occurrence, kinds) : given.get(site + "#" + occurrence);
        if (fault != null) {
            fired.add(fault);
        }
        return fault;
    }

    private @Nullable Fault drawn(String site, int occurrence, Kind... kinds) {
        int drawn = random.nextInt(10_000);
        for (Kind kind : kinds) {
            int rate = rates.getOrDefault(kind, 0);
            if (drawn < rate) {
                double share = random.nextDouble();
                long nanos = kind.most == 0 ? 0 : (long) (kind.least * Math.pow((double) kind.most / kind.least, share));
                return new Fault(site, occurrence, kind, nanos);
            }
            drawn -= rate;
        }
        return null;
    }
}

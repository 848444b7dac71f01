package dev.waybill.lab.points;

import dev.waybill.lab.sim.CrashTrial;
import dev.waybill.lab.sim.CrashTrial.Outcome;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A scenario on the model store with a crash at every subset of its boundaries. Subsets that differ only in boundaries which are never
 * passed are one history, and nothing but the deadly boundaries decides a history; so each history is run once, and all of them are all
 * subsets.
 */
public final class Subsets {
    private final Scenario scenario;
    private final int limit;
    private final Set<String> points = new LinkedHashSet<>();
    private final List<Failure> failures = new ArrayList<>();
    private final Map<String, Integer> stories = new TreeMap<>();
    private final Map<Integer, Integer> bySize = new TreeMap<>();
    private int histories;

    /** A subset that does not hold, by the deadly boundaries in the order in which they struck. */
    public record Failure(Scenario scenario, Set<String> deadly, Outcome outcome) {}

    private record Branch(Set<String> deadly, int decided) {}

    /** @param limit only the first so many boundaries that come up may be deadly; those of the clean run come first */
    public Subsets(Scenario scenario, int limit) {
        this.scenario = scenario;
        this.limit = limit;
    }

    /**
     * Runs them all.
     *
     * @param most no more histories than this; null = all there are
     * @return false when {@code most} cut it short
     */
    public boolean run(@Nullable Integer most) {
        Deque<Branch> open = new ArrayDeque<>(List.of(new Branch(Set.of(), 0)));
        while (!open.isEmpty()) {
            if (most != null && histories >= most) {
                return false;
            }
            Branch branch = open.removeFirst();
            Outcome outcome = CrashTrial.run(scenario, branch.deadly::contains);
            count(branch, outcome);
            List<String> passed = outcome.passed();
            for (int i = branch.decided; i < passed.size(); i++) {
                String point = passed.get(i);
                if (points.size() < limit) {
                    points.add(point);
                }
                if (points.contains(point)) {
                    Set<String> more = new HashSet<>(branch.deadly);
                    more.add(point);
                    // Breadth first: boundaries that only recoveries pass come up in the order of how much has happened before them.
                    open.addLast(new Branch(more, i + 1));
                }
            }
        }
        return true;
    }

    /** Runs one subset. */
    public void replay(Set<String> deadly) {
        points.addAll(deadly);
        count(new Branch(deadly, 0), CrashTrial.run(scenario, deadly::contains));
    }

    private void count(Branch branch, Outcome outcome) {
        histories++;
        bySize.merge(outcome.crashes(), 1, Integer::sum);
        stories.merge(outcome.story(), 1, Integer::sum);
        if (!outcome.holds()) {
            failures.add(new Failure(scenario, branch.deadly, outcome));
        } else if (outcome.crashes() != branch.deadly.size()) {
            throw new IllegalStateException("the simulator did not repeat " + branch.deadly + " of " + scenario.name());
        }
    }

    public Scenario scenario() {
        return scenario;
    }

    /** The boundaries that were deadly in some history. */
    public Set<String> points() {
        return points;
    }

    /** Different histories; together they are 2 to the power of {@link #points} subsets. */
    public int histories() {
        return histories;
    }

    /** How many of the histories have so many crashes. */
    public Map<Integer, Integer> bySize() {
        return bySize;
    }

    /** What became of effects and run, and in how many histories. */
    public Map<String, Integer> stories() {
        return stories;
    }

    public List<Failure> failures() {
        return failures;
    }
}

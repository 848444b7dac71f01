package dev.waybill.lab.points;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.lab.sim.CrashTrial;
import java.util.Set;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Issue 3, item 3: crashes at every subset of boundaries, on the model store; whole: {@code ./waybill lab points --subsets}. */
class SubsetsTest {
    private static final int POINTS = 6;

    @BeforeAll
    static void theDeadAreQuiet() {
        PointsCommand.quiet();
    }

    static java.util.List<Scenario> scenarios() {
        return Scenario.ALL;
    }

    @ParameterizedTest
    @MethodSource("scenarios")
    void whereverItDiesHoweverOftenEverythingIsDoneOnceAndNothingIsClaimedThatIsNotSo(Scenario scenario) {
        Subsets subsets = new Subsets(scenario, POINTS);
        assertThat(subsets.run(null)).isTrue();
        assertThat(subsets.failures()).isEmpty();
        assertThat(subsets.points()).hasSize(POINTS);
        assertThat(subsets.bySize()).as("histories by crashes").containsKeys(0, 1, 2, 3, 4);
        assertThat(subsets.stories().keySet()).as("crashes that left something unknown").anyMatch(story -> story.contains("abandoned"));
    }

    @Test
    void aSubsetGivesTheSameHistoryEveryTime() {
        Scenario fused = Scenario.named("fused");
        Set<String> deadly = Set.of("wire /charges sent", "wire /shipments connected", "claim after");
        CrashTrial.Outcome once = CrashTrial.run(fused, deadly::contains);
        assertThat(once.crashes()).isEqualTo(deadly.size());
        assertThat(CrashTrial.run(fused, deadly::contains).hash()).isEqualTo(once.hash());
    }
}

package dev.waybill.lab.points;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.lab.points.Trial.Outcome;
import java.io.IOException;
import java.sql.SQLException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Issue 3, item 3: a crash at every boundary of every canonical scenario, on both real stores, and a sample of the pairs.
 * Errors and all pairs take minutes to hours: {@code ./waybill lab points --pairs}.
 */
class CrashPointsTest {
    private static final int WORKERS = 6;
    /** A sample of the pairs. */
    private static final int PAIRS = 60;

    @BeforeAll
    static void theDeadAreQuiet() {
        PointsCommand.quiet();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whereverItDiesEverythingIsDoneOnceAndNothingIsClaimedThatIsNotSo(boolean postgres) throws IOException, SQLException {
        try (var enumeration = new Enumeration(postgres, WORKERS, Scenario.ALL, Mutant.NONE, InstantSource.system())) {
            List<Outcome> clean = enumeration.clean(Scenario.ALL);
            List<Outcome> singles = enumeration.singles(clean);

            assertThat(clean).hasSameSizeAs(Scenario.ALL).allMatch(Outcome::holds);
            assertThat(singles.stream().filter(one -> !one.holds()).toList()).isEmpty();
            assertThat(enumeration.books()).isEmpty();
            // A point that hangs on a poll may be passed by; each window must have been hit all the same.
            assertThat(singles.stream().filter(one -> one.fired().contains(false)).count()).isLessThan(singles.size() / 20L);
            assertThat(Windows.hits(singles)).hasSize(17).allSatisfy((window, hits) -> assertThat(hits).as(window).isPositive());
            assertThat(unknowns(singles)).as("crashes that left something unknown").isPositive();

            List<Outcome> pairs = enumeration.all(Enumeration.pairs(clean, singles, true, 1).subList(0, PAIRS), null);
            assertThat(pairs).hasSize(PAIRS);
            assertThat(pairs.stream().filter(one -> !one.holds()).toList()).isEmpty();
            assertThat(pairs.stream().filter(one -> !one.fired().contains(false)).count()).as("both crashes happened").isGreaterThan(PAIRS / 2L);
            assertThat(enumeration.books()).isEmpty();
        }
    }

    private static long unknowns(List<Outcome> outcomes) {
        List<String> stories = new ArrayList<>();
        outcomes.forEach(one -> stories.add(one.story()));
        return stories.stream().filter(story -> story.contains("abandoned")).count();
    }
}

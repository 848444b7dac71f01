package dev.waybill.lab.sim;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** The many seeds are {@code ./waybill lab sim}; here are a few hundred, and those that once failed. */
class SimulatorTest {
    private static final int SEEDS = Integer.getInteger("waybill.sim.seeds", 400);
    private static final Logger ENGINE = (Logger) LoggerFactory.getLogger("dev.waybill");
    private static Level before;

    @BeforeAll
    static void quiet() {
        before = ENGINE.getLevel();
        Silence.engine();
    }

    @AfterAll
    static void loud() {
        ENGINE.setLevel(before);
    }

    @Test
    void manySeedsGiveTheSameHistoryTwiceAndNothingIsDoneTwice() {
        StringWriter report = new StringWriter();
        SimCommand.Sweep sweep = new SimCommand.Sweep(new PrintWriter(report, true));
        for (long seed = 1; seed <= SEEDS; seed++) {
            SimOptions options = SimOptions.of(seed);
            if (!sweep.add(seed % 4 == 0 ? options.live() : options, Simulator.HERE)) {
                break;
            }
        }
        sweep.report(new PrintWriter(report, true), 1);
        assertThat(sweep.failures()).as(report.toString()).isEmpty();
        assertThat(sweep.reached())
                .containsKeys("commit unclear_done", "commit unclear_undone", "engine takeovers", "engine effects unknown", "resolved committed");
    }

    @Test
    void aSeedGivesTheSameHistoryInAnotherClassLoader() {
        SimOptions seed = SimOptions.of(7);
        SimResult there = new Cabin().run(seed);
        assertThat(there.hash()).isEqualTo(Simulation.run(seed).hash());
        assertThat(there.faults()).isNotEmpty();
    }

    @Test
    void theFaultsOfASeedGivenAsAListGiveTheSameHistory() {
        SimResult drawn = Simulation.run(SimOptions.of(11));
        SimResult given = Simulation.run(SimOptions.of(11).with(drawn.faults(), true));
        assertThat(given.hash()).isEqualTo(drawn.hash());
        assertThat(given.chart()).isNotEmpty();
    }

    @Test
    void withoutItsFaultsASeedIsUneventful() {
        SimResult calm = Simulation.run(SimOptions.of(11).with(List.of(), false));
        assertThat(calm.violations()).isEmpty();
        assertThat(calm.reached()).doesNotContainKey("engine effects unknown");
    }

    /** Each of these once failed; what they found is in the commit that added it. */
    @ParameterizedTest
    @ValueSource(longs = {54, 66, 107, 118, 186, 399, 498, 757, 3158, 231660, 245847, 254651, 429100, 433054, 417925, 420546, 615964, 643853, 652261, 664449, 735617, 746923})
    void aSeedThatFailedOnceStaysClean(long seed) {
        SimOptions options = SimOptions.of(seed);
        assertThat(Simulation.run(seed % 4 == 0 ? options.live() : options).violations()).isEmpty();
    }
}

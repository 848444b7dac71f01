package dev.waybill.lab.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import picocli.CommandLine;

/** Faults by seed are not the same run twice: these have a command of their own ({@code -Dwaybill.torture=true}), not a place in every build. */
@EnabledIfSystemProperty(named = "waybill.torture", matches = "true")
class TortureSmokeTest {
    @Test
    void ninetySecondsOfFaultsOnPostgresqlAndItsStandbyBreakNoPromise() {
        assertThat(torture("--minutes", "1.5", "--seed", "1")).contains("standby promoted").endsWith("exit 0");
    }

    @Test
    void ninetySecondsOfFaultsOnSqliteBreakNoPromise() {
        assertThat(torture("--store", "sqlite", "--minutes", "1.5", "--seed", "2")).endsWith("exit 0");
    }

    @Test
    void aStandbyThatLacksTheLastCommitsIsFoundOut() {
        assertThat(torture("--control", "async", "--seed", "3")).contains("the checker found the loss").endsWith("exit 0");
    }

    @Test
    void theSeedsOwnProtocolIsFoundOut() {
        assertThat(torture("--control", "seed", "--minutes", "1.5", "--seed", "4")).contains("doubles per 10,000 steps").endsWith("exit 0");
    }

    private static String torture(String... arguments) {
        StringWriter report = new StringWriter();
        CommandLine torture = new CommandLine(new TortureCommand());
        torture.setOut(new PrintWriter(report));
        int exit = torture.execute(arguments);
        return report + "exit " + exit;
    }
}

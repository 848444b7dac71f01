package dev.waybill.lab.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import picocli.CommandLine;

/** Faults by seed are not the same run twice: this one has its own command ({@code -Dwaybill.torture=true}), not a place in every build. */
@EnabledIfSystemProperty(named = "waybill.torture", matches = "true")
class TortureSmokeTest {
    @Test
    void halfAMinuteOfFaultsOnPostgresqlBreaksNoPromise() {
        StringWriter report = new StringWriter();
        CommandLine torture = new CommandLine(new TortureCommand());
        torture.setOut(new PrintWriter(report));

        int exit = torture.execute("--minutes", "0.4", "--seed", "1", "--rate", "3", "--engines", "2");

        assertThat(exit).as("%s", report).isZero();
        assertThat(report.toString()).contains("takeovers");
    }
}

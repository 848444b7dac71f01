package dev.waybill.lab.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The benchmark runs to its end and compares the two protocols; how fast they are is no matter of a test. */
class BenchCommandTest {

    @ParameterizedTest
    @ValueSource(strings = {"temporary-postgres", "temporary-sqlite"})
    void everySearchOfTheQueueIsTimed(String store) {
        java.io.StringWriter printed = new java.io.StringWriter();
        int exit = new CommandLine(new QueueBenchCommand())
                .setOut(new java.io.PrintWriter(printed))
                .execute("--store", store, "--receipts", "2000", "--unknown", "200", "--repeat", "1");
        assertThat(exit).isZero();
        assertThat(printed.toString()).contains("queue: first page", "queue: q=label", "all: idempotency_key");
    }

    @ParameterizedTest
    @ValueSource(strings = {"temporary-postgres", "temporary-sqlite"})
    void aShortRoundPrintsBothProtocolsWhereBothRun(String store) {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        int exit;
        try {
            exit = new CommandLine(new BenchCommand())
                    .execute("--store", store, "--rounds", "1", "--workflows", "120", "--concurrency", "1,32");
        } finally {
            System.setOut(before);
        }
        assertThat(exit).isZero();
        assertThat(printed.toString(StandardCharsets.UTF_8)).contains("waybill", "at 32 at once");
    }
}

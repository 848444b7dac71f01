package dev.waybill.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ProcessesTest {
    private static final Duration SOON = Duration.ofSeconds(30);

    /** Prints its Java version and arguments, then echoes standard input. */
    public static final class Echo {
        public static void main(String[] arguments) throws IOException {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("drained")));
            System.err.println("to the other stream");
            System.out.println("java " + Runtime.version().feature() + " " + List.of(arguments));
            System.in.transferTo(System.out);
        }
    }

    @Test
    void aChildRunsOnThisJavaWithThisClassPath() {
        try (var child = Processes.java(Echo.class, "a", "b c")) {
            assertThat(child.awaitLine(line -> line.startsWith("java "), SOON)).isEqualTo("java " + Runtime.version().feature() + " [a, b c]");
            await().until(() -> child.errors().contains("to the other stream"));
            assertThat(child.lines()).doesNotContain("to the other stream");
        }
    }

    @Test
    void killGivesNoTimeForGoodbyes() {
        try (var child = Processes.java(Echo.class)) {
            child.awaitLine(line -> line.startsWith("java "), SOON);
            child.kill();
            assertThat(child.isAlive()).isFalse();
            assertThat(child.waitFor(SOON)).isEqualTo(128 + 9);
            assertThat(child.lines()).doesNotContain("drained");
        }
    }

    @Test
    void terminateRunsTheShutdownHooks() {
        try (var child = Processes.java(Echo.class)) {
            child.awaitLine(line -> line.startsWith("java "), SOON);
            child.terminate();
            child.awaitLine(line -> line.equals("drained"), SOON);
            assertThat(child.waitFor(SOON)).isEqualTo(128 + 15);
        }
    }

    @Test
    void aFrozenChildStandsStillUntilThawed() throws IOException {
        try (var child = Processes.start(List.of("/bin/sh", "-c", "echo ready; while read x; do :; done; echo end"), Map.of())) {
            child.awaitLine(line -> line.equals("ready"), SOON);
            child.freeze();
            await().until(() -> state(child.pid()) == 'T');
            child.endInput();
            assertThat(child.isAlive()).isTrue();
            assertThat(child.lines()).containsExactly("ready");
            child.thaw();
            child.awaitLine(line -> line.equals("end"), SOON);
            assertThat(child.waitFor(SOON)).isZero();
        }
    }

    @Test
    void aMissingLineFailsWithEverythingThatWasSaid() {
        try (var child = Processes.start(List.of("/bin/sh", "-c", "echo out; echo err >&2; exit 3"), Map.of("A", "b"))) {
            assertThat(child.waitFor(SOON)).isEqualTo(3);
            assertThatThrownBy(() -> child.awaitLine(line -> line.equals("never"), SOON))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("ended")
                    .hasMessageContaining("out");
        }
    }

    @Test
    void linesCanBeAwaitedFromAPointOn() {
        try (var child = Processes.start(List.of("/bin/sh", "-c", "echo up 1; read x; echo up 2"), Map.of())) {
            child.awaitLine(line -> line.startsWith("up"), SOON);
            int heard = child.lines().size();
            child.endInput();
            assertThat(child.awaitLine(heard, line -> line.startsWith("up"), SOON)).isEqualTo("up 2");
        }
    }

    private static char state(long pid) throws IOException {
        String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
        return stat.charAt(stat.lastIndexOf(')') + 2);
    }
}

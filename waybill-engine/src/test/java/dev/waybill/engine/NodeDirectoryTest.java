package dev.waybill.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.test.Processes;
import java.nio.file.Path;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whose lock was won is dead; whose lock is held is not. */
class NodeDirectoryTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir
    private Path directory;

    /** Prints the incarnations it believes to be dead. */
    static final class Looker {
        public static void main(String[] arguments) {
            try (NodeDirectory own = NodeDirectory.open(Path.of(arguments[0]))) {
                System.out.println("dead " + own.dead());
            }
        }
    }

    private String seenByAnotherProcess() {
        try (Processes.Child looker = Processes.java(Looker.class, directory.toString())) {
            return looker.awaitLine(line -> line.startsWith("dead "), PATIENCE);
        }
    }

    /** POSIX locks belong to the process: the second engine must not give the first one's lock up by looking at it. */
    @Test
    void aSecondEngineOfOneProcessLeavesTheFirstOnesLockAlone() {
        try (NodeDirectory first = NodeDirectory.open(directory)) {
            first.write(new UUID(1, 1));
            try (NodeDirectory second = NodeDirectory.open(directory)) {
                second.write(new UUID(2, 2));
                assertThat(second.dead()).isEmpty();
                assertThat(seenByAnotherProcess()).isEqualTo("dead []");
            }
            assertThat(seenByAnotherProcess()).isEqualTo("dead [" + new UUID(2, 2) + "]");
        }
        try (NodeDirectory next = NodeDirectory.open(directory)) {
            assertThat(next.dead()).contains(new UUID(1, 1));
        }
    }
}

package dev.waybill.lab.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.EffectState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The moves of the Promela models are generated from {@link EffectState}: the engine and its proof share one transition table. */
class ReceiptModelTest {
    private static final Path GENERATED = Path.of("..", "model", "generated", "receipt_states.pml").toAbsolutePath().normalize();

    @Test
    void theMovesOfTheModelAreThoseOfTheEngine() throws IOException {
        String wanted = promela();
        if (Boolean.getBoolean("waybill.regenerate")) {
            Files.createDirectories(GENERATED.getParent());
            Files.writeString(GENERATED, wanted);
        }
        assertThat(Files.readString(GENERATED)).as("stale: run this test with -Dwaybill.regenerate=true").isEqualTo(wanted);
    }

    private static String promela() {
        return """
                /* Generated from EffectState by ReceiptModelTest, which fails when this file is stale. Do not edit. */

                mtype = { %s };

                #define UNRESOLVED(state) (%s)
                #define APPLIED(state)    (%s)

                /* EffectState.successors() */
                #define LEGAL(from, to) ( \\
                %s )

                /* A row of the journal: the only way a receipt changes. */
                inline MOVE(receipt, to) {
                    if
                    :: LEGAL(receipt, to) -> receipt = to
                    :: else -> assert(S3_only_legal_moves)
                    fi
                }
                """
                .formatted(
                        Arrays.stream(EffectState.values()).map(Enum::name).collect(Collectors.joining(", ")),
                        either("state", EffectState::unresolved),
                        either("state", EffectState::applied),
                        Arrays.stream(EffectState.values())
                                .filter(from -> !from.successors().isEmpty())
                                .map(from -> "    (from) == %s && (%s)".formatted(from, either("to", from::canMoveTo)))
                                .collect(Collectors.joining(" || \\\n")));
    }

    private static String either(String variable, Predicate<EffectState> those) {
        return Arrays.stream(EffectState.values())
                .filter(those)
                .map(state -> "(%s) == %s".formatted(variable, state))
                .collect(Collectors.joining(" || "));
    }
}

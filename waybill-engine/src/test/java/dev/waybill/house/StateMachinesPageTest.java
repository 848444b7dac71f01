package dev.waybill.house;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** docs/state-machines.md is generated from the enums; the SQL of both stores repeats the same words. */
class StateMachinesPageTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    @Test
    void thePageIsWhatTheEnumsSay() throws IOException {
        Path page = ROOT.resolve("docs/state-machines.md");
        String wanted = page();
        if (Boolean.getBoolean("waybill.regenerate")) {
            Files.writeString(page, wanted);
        }
        assertThat(Files.readString(page)).as("stale: run this test with -Dwaybill.regenerate=true").isEqualTo(wanted);
    }

    @Test
    void theChecksOfBothStoresNameExactlyTheStates() throws IOException {
        for (String migration : List.of("postgres/001_core.sql", "sqlite/001_core.sql")) {
            String sql = Files.readString(ROOT.resolve("waybill-engine/src/main/resources/dev/waybill/store/" + migration));
            for (EffectState state : EffectState.values()) {
                assertThat(sql).as(migration).contains("'" + state.wire() + "'");
            }
            for (InstanceState state : InstanceState.values()) {
                assertThat(sql).as(migration).contains("'" + state.wire() + "'");
            }
        }
    }

    private static String page() {
        StringBuilder page = new StringBuilder("""
                # State machines

                Generated from `EffectState` and `InstanceState`; a test fails when this page is stale.

                ## Effect receipt

                Every move is a compare-and-swap on the receipt's journal. Nothing leads back to `dispatched`.

                | from | to |
                |---|---|
                """);
        for (EffectState state : EffectState.values()) {
            page.append("| ").append(state.wire()).append(" | ").append(names(state.successors())).append(" |\n");
        }
        page.append("""

                ## Run (instance)

                | from | to |
                |---|---|
                """);
        for (InstanceState state : InstanceState.values()) {
            page.append("| ").append(state.wire()).append(" | ").append(names(state.successors())).append(" |\n");
        }
        return page.toString();
    }

    private static <E extends Enum<E>> String names(Set<E> states) {
        if (states.isEmpty()) {
            return "-";
        }
        return states.stream()
                .sorted(Comparator.comparingInt(Enum::ordinal))
                .map(state -> state.name().toLowerCase(Locale.ROOT))
                .collect(Collectors.joining(", "));
    }
}

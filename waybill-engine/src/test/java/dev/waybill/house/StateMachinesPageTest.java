package dev.waybill.house;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.model.EffectKind;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Proof;
import dev.waybill.store.BlockRow;
import dev.waybill.store.JournalRow;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** docs/state-machines.md is generated from the enums; the moves and words that the SQL of both stores allows are the same. */
class StateMachinesPageTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final List<Path> MIGRATIONS = Stream.of("postgres/001_core.sql", "sqlite/001_core.sql")
            .map(ROOT.resolve("waybill-engine/src/main/resources/dev/waybill/store")::resolve)
            .toList();
    /** A person supplies an output that was lost: a row that moves nothing. */
    private static final String SUPPLIED = Arrays.stream(EffectState.values())
            .filter(EffectState::applied)
            .map(state -> "'" + state.wire() + "'")
            .collect(Collectors.joining(", ", "from_state = to_state AND to_state IN (", ") AND output_state = 'saved'"));

    private static final Pattern MOVES = Pattern.compile("CHECK \\(from_state [^)]*\\)[^)]*\\)[^)]*\\)");

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
    void theChecksOfBothStoresAreTheMovesOfTheEnum() throws Exception {
        String wanted = check();
        for (Path file : MIGRATIONS) {
            String sql = Files.readString(file);
            if (Boolean.getBoolean("waybill.regenerate")) {
                sql = MOVES.matcher(sql).replaceFirst(Matcher.quoteReplacement(wanted));
                Files.writeString(file, sql);
            }
            assertThat(MOVES.matcher(sql).results().map(MatchResult::group)).as("%s is stale: run this test with -Dwaybill.regenerate=true", file).containsExactly(wanted);
        }
    }

    /** The text is the same in both stores; here a database reads it. */
    @Test
    void aDatabaseRefusesEveryMoveThatIsNotInTheEnum() throws SQLException {
        try (Connection db = DriverManager.getConnection("jdbc:sqlite::memory:");
                Statement statement = db.createStatement()) {
            statement.execute("CREATE TABLE journal (from_state TEXT NOT NULL, to_state TEXT NOT NULL, output_state TEXT NOT NULL, " + check() + ")");
            for (EffectState from : EffectState.values()) {
                for (EffectState to : EffectState.values()) {
                    for (JournalRow.OutputState output : JournalRow.OutputState.values()) {
                        String insert = "INSERT INTO journal VALUES ('%s', '%s', '%s')".formatted(from.wire(), to.wire(), wire(output).iterator().next());
                        boolean supplied = from == to && to.applied() && output == JournalRow.OutputState.SAVED;
                        if (from.canMoveTo(to) || supplied) {
                            assertThat(statement.executeUpdate(insert)).isEqualTo(1);
                        } else {
                            assertThatThrownBy(() -> statement.executeUpdate(insert)).as(insert).hasMessageContaining("CHECK");
                        }
                    }
                }
            }
        }
    }

    @Test
    void theChecksOfBothStoresNameExactlyTheWordsOfTheEnums() throws IOException {
        for (Path file : MIGRATIONS) {
            String sql = Files.readString(file);
            assertThat(words(sql, "task_instances", "state")).as(file.toString()).isEqualTo(wire(InstanceState.values()));
            assertThat(words(sql, "effect_receipts", "kind")).as(file.toString()).isEqualTo(wire(EffectKind.values()));
            assertThat(words(sql, "receipt_journal", "proof")).as(file.toString()).isEqualTo(wire(Proof.values()));
            assertThat(words(sql, "receipt_journal", "output_state")).as(file.toString()).isEqualTo(wire(JournalRow.OutputState.values()));
            assertThat(words(sql, "block_outputs", "kind")).as(file.toString()).isEqualTo(wire(BlockRow.Kind.values()));
            // A receipt is born in one of these.
            assertThat(words(sql, "effect_receipts", "state"))
                    .as(file.toString())
                    .isEqualTo(wire(EffectState.PREPARED, EffectState.DISPATCHED));
        }
    }

    private static String check() {
        return Arrays.stream(EffectState.values())
                .filter(from -> !from.successors().isEmpty())
                .map(from -> from.successors().stream()
                        .sorted()
                        .map(to -> "'" + from.wire() + " " + to.wire() + "'")
                        .collect(Collectors.joining(", ")))
                .collect(Collectors.joining(",\n    ", "CHECK (from_state || ' ' || to_state IN (\n    ", ")\n    OR " + SUPPLIED + ")"));
    }

    /** The words of {@code CHECK (column IN (..))} in one table. */
    private static Set<String> words(String sql, String table, String column) {
        Matcher whole = Pattern.compile("CREATE TABLE " + table + " \\((.*?)\\n\\)", Pattern.DOTALL).matcher(sql);
        assertThat(whole.find()).as(table).isTrue();
        Matcher check = Pattern.compile("CHECK \\(" + column + " IN\\s*\\(([^)]*)\\)\\)").matcher(whole.group(1));
        assertThat(check.find()).as("%s.%s", table, column).isTrue();
        return Arrays.stream(check.group(1).split(",")).map(word -> word.strip().replace("'", "")).collect(Collectors.toSet());
    }

    private static Set<String> wire(Enum<?>... values) {
        return Arrays.stream(values).map(value -> value.name().toLowerCase(Locale.ROOT)).collect(Collectors.toSet());
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

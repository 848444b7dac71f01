package dev.waybill.store.sqlite;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.store.EffectSearches;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.test.ManyReceipts;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Map;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How SQLite finds what people look for among many receipts. */
class SqliteSearchPlanTest {
    @TempDir
    private static Path directory;

    private static Path file;

    @BeforeAll
    static void load() throws SQLException {
        file = directory.resolve("waybill.db");
        try (SqliteLab lab = new SqliteLab(directory);
                Connection connection = connect()) {
            lab.store().migrate();
            new ManyReceipts(20_000, 2_000).load(connection);
        }
    }

    private static Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + file);
    }

    @Test
    void noSearchReadsAWholeTable() throws SQLException {
        SoftAssertions softly = new SoftAssertions();
        try (Connection connection = connect()) {
            for (Map.Entry<String, EffectFilter> search : EffectSearches.all().entrySet()) {
                String plan = String.join("\n", SqliteQueries.search(search.getValue()).plan(connection));
                softly.assertThat(plan).as(search.getKey())
                        .doesNotContainPattern("SCAN [a-z]( |$)|CORRELATED LIST")
                        .containsPattern("SEARCH (o|r) USING (COVERING )?(INDEX (effect_open|effect_receipts|sqlite_autoindex)|PRIMARY KEY|INTEGER PRIMARY KEY)");
            }
        }
        softly.assertAll();
    }

    @Test
    void theFirstPageOfTheQueueIsReadInTheOrderOfItsIndex() throws SQLException {
        try (Connection connection = connect()) {
            String plan = String.join("\n", SqliteQueries.search(EffectSearches.all().get("queue first page")).plan(connection));
            assertThat(plan).containsPattern("SEARCH o USING (COVERING )?INDEX effect_open_newest").doesNotContain("TEMP B-TREE");
        }
    }
}

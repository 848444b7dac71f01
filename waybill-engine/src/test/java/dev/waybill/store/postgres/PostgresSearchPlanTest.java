package dev.waybill.store.postgres;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.store.EffectSearches;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.test.ManyReceipts;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** How PostgreSQL finds what people look for among many receipts: by an index, with the values known and without. */
class PostgresSearchPlanTest {
    /** For what has no index of its own, the queue is read in its order: rare rows. */
    private static final String QUEUE_OR_KEY = "effect_open_\\w+|effect_open_pkey|effect_receipts_\\w+|receipt_journal_\\w+";

    private static PostgresLab lab;

    @BeforeAll
    static void load() throws SQLException {
        lab = new PostgresLab();
        try (Connection connection = lab.database.connect()) {
            new ManyReceipts(20_000, 2_000).load(connection);
        }
    }

    @AfterAll
    static void close() {
        lab.close();
    }

    @Test
    void noSearchReadsAWholeTable() throws SQLException {
        SoftAssertions softly = new SoftAssertions();
        for (String mode : List.of("force_custom_plan", "force_generic_plan")) {
            try (Connection connection = lab.database.connect();
                    Statement statement = connection.createStatement()) {
                statement.execute("SET plan_cache_mode = " + mode);
                for (Map.Entry<String, EffectFilter> search : EffectSearches.all().entrySet()) {
                    String plan = String.join("\n", new PgEffectSearch(connection, search.getValue()).plan());
                    softly.assertThat(plan).as("%s, %s", search.getKey(), mode)
                            .doesNotContainPattern("Seq Scan on (effect_receipts|receipt_journal|effect_open)")
                            .containsPattern("(using|on) (" + QUEUE_OR_KEY + ")");
                }
            }
        }
        softly.assertAll();
    }

    @Test
    void theFirstPageOfTheQueueIsReadInTheOrderOfItsIndex() throws SQLException {
        try (Connection connection = lab.database.connect()) {
            String plan = String.join("\n", new PgEffectSearch(connection, EffectSearches.all().get("queue first page")).plan());
            assertThat(plan).contains("Index Scan using effect_open_newest").doesNotContain("Sort");
        }
    }

    @Test
    void whatIsLookedForIsFound() {
        Map<String, EffectFilter> searches = EffectSearches.all();
        assertThat(lab.store().queries().effects(searches.get("queue first page"))).hasSize(50);
        assertThat(lab.store().queries().effects(searches.get("all idempotency_key"))).hasSize(1);
        assertThat(lab.store().queries().effects(searches.get("all provider_receipt_id"))).hasSize(1);
    }
}

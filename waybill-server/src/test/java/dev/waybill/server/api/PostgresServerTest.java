package dev.waybill.server.api;

import static dev.waybill.server.api.ServerLab.charge;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.test.Behaviour;
import dev.waybill.test.PostgresCommitCut;
import dev.waybill.test.Rule;
import dev.waybill.test.TestPostgres;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** The same server on PostgreSQL; what the API does is the same, so only the road from unknown to done is walked. */
class PostgresServerTest {
    private static final Predicate<String> STARTS = sql -> sql.contains("dedup_keys");

    @TempDir
    Path directory;

    @Test
    void anUnknownEffectIsFoundAndResolvedOnPostgresToo() {
        TestPostgres.Database database = TestPostgres.database();
        try (ServerLab lab = new ServerLab(directory, Map.of("WAYBILL_STORE", database.waybillUrl(), "WAYBILL_POOL", "4"))) {
            assertThat(lab.get("/api/v1/info").json().path("store").asString()).startsWith("postgresql://").doesNotContain("@");
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge(""));
            String run = lab.start("pay", "{'order':'PG-1'}");
            lab.await(run, "waiting");
            String id = lab.get("/api/v1/effects?state=open&q=PG-1").json().path("items").get(0).path("effect_id").asString();
            assertThat(lab.get("/metrics").text()).contains("waybill_effects_unresolved{");
            lab.post("/api/v1/effects/" + id + "/resolve", "{'state':'committed','provider_receipt_id':'ch_1','evidence':'seen in the ledger'}");
            lab.await(run, "completed");
            lab.post("/api/v1/effects/" + id + "/resolve", "{'state':'abandoned','evidence':'x'}").refused(409, "EFFECT_NOT_UNKNOWN");
            JsonNode changes = lab.get("/api/v1/changes").json();
            assertThat(changes.path("items").findValuesAsString("event_type")).contains("effect.unknown", "instance.completed");
            assertThat(lab.get("/api/v1/effects/" + id).json().path("evidence").size()).isPositive();
            assertThat(lab.provider.applied()).isEqualTo(1);
        } finally {
            database.drop();
        }
    }

    /** The engine asks for 10 s what became of it; then it says that nobody knows. */
    @Test
    void aStartWhoseCommitStaysUnclearIsSaidToBeUnclearAndIsLaterFoundOnceByItsKey() {
        TestPostgres.Database database = TestPostgres.database();
        try (PostgresCommitCut cut = PostgresCommitCut.before(database);
                ServerLab lab = new ServerLab(directory, Map.of("WAYBILL_STORE", cut.database().waybillUrl(), "WAYBILL_POOL", "4"))) {
            lab.sequence("pay", charge(""));
            cut.loseReply(STARTS, Integer.MAX_VALUE);
            assertUnclear(lab, "PG-2");
            int asked = cut.cuts();
            cut.disarm();
            assertThat(asked).as("how often the engine asked").isGreaterThan(2);

            // Whether or not its caller ever comes back, what is durable runs.
            JsonNode runs = lab.get("/api/v1/instances?limit=10").json().path("items");
            assertThat(runs).hasSize(1);
            String run = runs.get(0).path("id").asString();
            lab.await(run, "completed");

            Http.Answer again = lab.post("/api/v1/instances", order("PG-2"), "Idempotency-Key", "PG-2");
            assertThat(again.status()).isEqualTo(200);
            assertThat(again.json().path("id").asString()).isEqualTo(run);
            assertThat(again.json().path("deduplicated").asBoolean()).isTrue();
            assertThat(lab.get("/api/v1/instances?limit=10").json().path("items")).hasSize(1);
            assertThat(lab.provider.applied()).isEqualTo(1);
        } finally {
            database.drop();
        }
    }

    @Test
    void aStartWhoseCommitNeverArrivesIsSaidToBeUnclearAndItsKeyStartsItLater() {
        TestPostgres.Database database = TestPostgres.database();
        try (PostgresCommitCut cut = PostgresCommitCut.before(database);
                ServerLab lab = new ServerLab(directory, Map.of("WAYBILL_STORE", cut.database().waybillUrl(), "WAYBILL_POOL", "4"))) {
            lab.sequence("pay", charge(""));
            cut.loseCommit(STARTS, Integer.MAX_VALUE);
            assertUnclear(lab, "PG-3");
            cut.disarm();
            assertThat(lab.get("/api/v1/instances?limit=10").json().path("items")).isEmpty();

            Http.Answer again = lab.post("/api/v1/instances", order("PG-3"), "Idempotency-Key", "PG-3");
            assertThat(again.status()).isEqualTo(201);
            lab.await(again.json().path("id").asString(), "completed");
            assertThat(lab.provider.applied()).isEqualTo(1);
        } finally {
            database.drop();
        }
    }

    private static void assertUnclear(ServerLab lab, String key) {
        Http.Answer unclear = lab.post("/api/v1/instances", order(key), "Idempotency-Key", key);
        unclear.refused(503, "COMMIT_UNCLEAR");
        assertThat(unclear.json().path("next").asString()).contains("ask again with the same Idempotency-Key");
    }

    private static String order(String order) {
        return "{'sequence_name':'pay','context':{'data':{'order':'" + order + "'}}}";
    }
}

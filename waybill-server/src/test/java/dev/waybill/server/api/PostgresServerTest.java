package dev.waybill.server.api;

import static dev.waybill.server.api.ServerLab.charge;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import dev.waybill.test.TestPostgres;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** The same server on PostgreSQL; what the API does is the same, so only the road from unknown to done is walked. */
class PostgresServerTest {
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
}

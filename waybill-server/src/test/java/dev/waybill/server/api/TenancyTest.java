package dev.waybill.server.api;

import static dev.waybill.server.api.ServerLab.charge;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TenancyTest {
    private static final String RANDOM = "0190b6f0-0000-7000-8000-000000000000";
    private static final String[] ACME = {"x-api-key", "the-key-of-acme"};
    private static final String[] OTHER = {"x-api-key", "the-key-of-other"};

    @TempDir
    Path directory;

    @Test
    void anotherTenantsIdsAreAsUnknownAsRandomOnes() throws IOException {
        Path config = Files.writeString(directory.resolve("waybill.yaml"), """
                api_keys:
                  - {name: acme-key, tenant: acme, key: the-key-of-acme}
                  - {name: other-key, tenant: other, key: the-key-of-other}
                """);
        try (ServerLab lab = new ServerLab(directory, Map.of("WAYBILL_CONFIG", config.toString()))) {
            String sequence = lab.sequence("pay", charge(""), ACME);
            String run = lab.start("pay", "{'order':'T-1'}", ACME);
            lab.await(run, "completed", ACME);
            String effect = lab.effectOf(run, ACME).path("effect_id").asString();

            for (String suffix : List.of("", "/state", "/context", "/outputs", "/effects", "/tree", "/audit")) {
                same(lab, "/api/v1/instances/%s" + suffix, run);
            }
            same(lab, "/api/v1/sequences/%s", sequence);
            same(lab, "/api/v1/sequences/%s/versions", sequence);
            same(lab, "/api/v1/effects/%s", effect);
            lab.post("/api/v1/instances/" + run + "/signals", "{'signal_type':'cancel'}", OTHER).refused(404, "RUN_NOT_FOUND");
            lab.post("/api/v1/instances/" + run + "/retry", "{}", OTHER).refused(404, "RUN_NOT_FOUND");
            lab.post("/api/v1/effects/" + effect + "/resolve", "{'state':'abandoned','evidence':'x'}", OTHER).refused(404, "EFFECT_NOT_FOUND");
            lab.post("/api/v1/sequences/" + sequence + "/deprecate", "{}", OTHER).refused(404, "SEQUENCE_NOT_FOUND");
            lab.post("/api/v1/instances", "{'sequence_id':'" + sequence + "'}", OTHER).refused(404, "SEQUENCE_NOT_FOUND");

            for (String list : List.of("/api/v1/instances", "/api/v1/sequences", "/api/v1/effects", "/api/v1/changes")) {
                assertThat(lab.get(list, OTHER).json().path("items")).as(list).isEmpty();
                assertThat(lab.get(list, ACME).json().path("items")).as(list).isNotEmpty();
            }
            assertThat(lab.get("/api/v1/instances/" + run + "/audit", ACME).status()).isEqualTo(200);
        }
    }

    private static void same(ServerLab lab, String path, String theirs) {
        Http.Answer foreign = lab.get(path.formatted(theirs), OTHER);
        Http.Answer nobodys = lab.get(path.formatted(RANDOM), OTHER);
        assertThat(foreign.status()).as(path).isEqualTo(404);
        assertThat(foreign.text().replace(theirs, "ID")).isEqualTo(nobodys.text().replace(RANDOM, "ID"));
    }
}

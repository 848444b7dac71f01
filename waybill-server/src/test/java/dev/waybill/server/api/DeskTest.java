package dev.waybill.server.api;

import static dev.waybill.server.api.ServerLab.charge;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.CanonicalJson;
import dev.waybill.json.Json;
import dev.waybill.operate.CaseSigner;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Evidence and what each outcome must prove. */
class DeskTest {
    private static final byte[] SCREENSHOT = "<script>alert(1)</script>".getBytes(StandardCharsets.UTF_8);
    private static final String SHA256 = "3b5d3c44b2a0b1eebd8ad0ac2ed4ce6ff10c0e6a3ba4b47bb57e0b2d7e4b5b17";

    @TempDir
    static Path directory;

    private static ServerLab lab;
    private String run;
    private String effect;

    @BeforeAll
    static void start() {
        lab = new ServerLab(directory, Map.of());
        lab.sequence("desk", charge(""));
    }

    @AfterAll
    static void stop() {
        lab.close();
    }

    @BeforeEach
    void unknown() {
        lab.provider.reset();
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
        run = lab.start("desk", "{'order':'D-1'}");
        lab.await(run, "waiting");
        effect = "/api/v1/effects/" + lab.effectOf(run).path("effect_id").asString();
    }

    private static String file(String name, byte[] content, String more) {
        return "{'name':'" + name + "','content_base64':'" + Base64.getEncoder().encodeToString(content) + "'" + more + "}";
    }

    private JsonNode show() {
        return lab.get(effect).json();
    }

    @Test
    void aNoteALinkAndAFileAreKeptWithTheCaseAndTheFileComesBackByItsHash() {
        JsonNode file = lab.post(effect + "/evidence", "{'note':'asked the bank','link':'https://bank.example/t/1','file':"
                + file("Auszug ä.html", SCREENSHOT, "") + "}", "x-actor", "alice").json();
        assertThat(file.path("state").asString()).isEqualTo("unknown");
        assertThat(file.path("evidence").findValuesAsString("kind")).containsExactly("file", "link", "note");
        JsonNode kept = file.path("evidence").get(0);
        assertThat(kept.path("actor").asString()).contains("operator:alice");
        assertThat(kept.path("body").path("size").asInt()).isEqualTo(SCREENSHOT.length);
        assertThat(kept.path("bytes").isNull()).isTrue();

        Http.Answer content = lab.get(effect + "/evidence/" + kept.path("body").path("sha256").asString());
        assertThat(content.raw().body()).isEqualTo(SCREENSHOT);
        assertThat(content.header("content-type")).startsWith("application/octet-stream");
        assertThat(content.header("content-disposition")).isEqualTo("attachment; filename*=UTF-8''Auszug%20%C3%A4.html");
        lab.get(effect + "/evidence/" + SHA256).refused(404, "EVIDENCE_NOT_FOUND");

        lab.post(effect + "/evidence", "{'note':'asked the bank'}", "x-actor", "bob");
        assertThat(show().path("evidence")).as("the same words are not added again").hasSize(3);
    }

    @Test
    void badEvidenceIsRefusedWithItsPlaceAndLeavesNothing() {
        String attach = effect + "/evidence";
        refused(attach, "{}", 422, "EVIDENCE_REQUIRED", "/note");
        refused(attach, "{'note':' '}", 422, "EVIDENCE_REQUIRED", "/note");
        refused(attach, "{'link':'javascript:alert(1)'}", 422, "EVIDENCE_INVALID", "/link");
        refused(attach, "{'note':'x','file':" + file("../a", SCREENSHOT, "") + "}", 422, "EVIDENCE_INVALID", "/file/name");
        refused(attach, "{'file':" + file("a", new byte[0], "") + "}", 422, "EVIDENCE_INVALID", "/file/content_base64");
        refused(attach, "{'file':" + file("a", SCREENSHOT, ",'sha256':'" + SHA256 + "'") + "}", 422, "EVIDENCE_INVALID", "/file/sha256");
        refused(attach, "{'file':{'name':'a','content_base64':'*'}}", 400, "INVALID_FIELD", "/file/content_base64");
        refused(attach, "{'file':" + file("a", new byte[1024 * 1024 + 1], "") + "}", 422, "EVIDENCE_INVALID", "/file/content_base64");
        String resolve = effect + "/resolve";
        refused(resolve, "{'state':'committed','evidence':'seen'}", 422, "EVIDENCE_REQUIRED", "/provider_receipt_id");
        refused(resolve, "{'state':'committed','evidence':{'note':'seen','link':'https://bank.example/1'}}", 422, "EVIDENCE_REQUIRED", "/provider_receipt_id");
        refused(resolve, "{'state':'abandoned'}", 422, "EVIDENCE_REQUIRED", "/note");
        refused(resolve, "{'state':'verified','evidence':{'note':'x','link':'ftp://x'}}", 422, "EVIDENCE_INVALID", "/evidence/link");
        refused(resolve, "{'state':'committed','evidence':{'note':'x','file':" + file("/", SCREENSHOT, "") + "}}", 422, "EVIDENCE_INVALID", "/evidence/file/name");
        JsonNode file = show();
        assertThat(file.path("state").asString()).isEqualTo("unknown");
        assertThat(file.path("evidence")).isEmpty();
    }

    private static void refused(String path, String body, int status, String code, String pointer) {
        assertThat(lab.post(path, body).refused(status, code).json().path("pointer").asString()).as(body).isEqualTo(pointer);
    }

    @Test
    void aFileProvesACommitWithoutTheProvidersIdWhetherItComesWithTheDecisionOrWasThereBefore() {
        byte[] large = new byte[1024 * 1024];
        JsonNode with = lab.post(
                        effect + "/resolve", "{'state':'committed','evidence':{'note':'on the paper','file':" + file("scan.pdf", large, "") + "}}").json();
        assertThat(with.path("state").asString()).isEqualTo("committed");
        assertThat(with.path("evidence").findValuesAsString("kind")).containsExactly("file", "resolution");
        assertThat(with.path("evidence").get(1).path("body").path("file").path("sha256")).isEqualTo(with.path("evidence").get(0).path("body").path("sha256"));
        lab.await(run, "completed");

        unknown();
        lab.post(effect + "/evidence", "{'file':" + file("scan.pdf", SCREENSHOT, "") + "}");
        assertThat(lab.post(effect + "/resolve", "{'state':'committed','evidence':'see the file'}").json().path("state").asString()).isEqualTo("committed");
        lab.post(effect + "/evidence", "{'note':'afterwards too'}");
        assertThat(show().path("evidence")).hasSize(3);
    }

    @Test
    void aCaseHoldsTwentyFilesAndSaysSo() {
        for (int i = 0; i < 20; i++) {
            assertThat(lab.post(effect + "/evidence", "{'file':" + file("f" + i, SCREENSHOT, "") + "}").status()).isEqualTo(200);
        }
        lab.post(effect + "/evidence", "{'file':" + file("f20", SCREENSHOT, "") + "}").refused(409, "EVIDENCE_FULL");
        assertThat(lab.post(effect + "/evidence", "{'note':'a note has room'}").json().path("evidence")).hasSize(21);
        assertThat(Json.write(lab.get("/api/v1/instances/" + run + "/audit").json())).isNotEmpty();
    }

    @Test
    void anExportHoldsEverythingAndEveryChangeOfItIsNoticed() {
        byte[] picture = {(byte) 0xff, 0, 1, 2};
        lab.post(effect + "/evidence", "{'note':'asked','file':" + file("p.png", picture, "") + "}");
        lab.post(effect + "/resolve", "{'state':'committed','provider_receipt_id':'ch_1','evidence':'seen','output':{'big':12345678901234567890.10}}");
        lab.await(run, "completed");
        Http.Answer answer = lab.get(effect + "/export");
        JsonNode document = answer.json();
        String key = lab.get("/api/v1/signing-key").json().path("public_key").asString();
        assertThat(CaseSigner.faults(document, key)).isEmpty();
        assertThat(CaseSigner.faults(document, null)).isEmpty();
        assertThat(answer.raw().body()).as("canonical").isEqualTo(CanonicalJson.canonical(document));
        JsonNode exported = document.path("case");
        assertThat(exported.path("journal").size()).isGreaterThanOrEqualTo(2);
        assertThat(exported.path("evidence").get(0).path("content_base64").asString()).isEqualTo(Base64.getEncoder().encodeToString(picture));
        assertThat(Json.write(exported.path("run_outputs"))).contains("12345678901234567890.1");

        String text = answer.text();
        for (String[] change : new String[][] {
            {"\"state\":\"committed\"", "\"state\":\"verified\""}, {"ch_1", "ch_2"}, {"\"note\":\"seen\"", "\"note\":\"sean\""},
            {Base64.getEncoder().encodeToString(picture), Base64.getEncoder().encodeToString(new byte[] {1})}, {"12345678901234567890.1", "12345678901234567891.1"},
            {"waybill-case-v1", "waybill-case-v2"},
        }) {
            assertThat(text).contains(change[0]);
            assertThat(CaseSigner.faults(Json.parse(text.replace(change[0], change[1])), null)).as(change[0]).isNotEmpty();
        }
        // Somebody else's signature over the same case is of one piece, and not this server's.
        byte[] forged = new CaseSigner(CaseSigner::generate).sign(exported);
        assertThat(CaseSigner.faults(Json.parse(forged), null)).isEmpty();
        assertThat(CaseSigner.faults(Json.parse(forged), key)).hasSize(2);
        assertThat(lab.get("/api/v1/signing-key").json().path("public_key").asString()).isEqualTo(key);
    }
}

package dev.waybill.server.api;

import static dev.waybill.server.api.ServerLab.charge;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.waybill.json.Json;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import dev.waybill.test.TestPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Decisions that take two people. */
class FourEyesTest {
    private static final String[] ALICE = {"x-api-key", "the-key-of-alice"};
    private static final String[] ALICE_AS_BOB = {"x-api-key", "the-key-of-alice", "x-actor", "bob"};
    private static final String[] BOB = {"x-api-key", "the-key-of-bob"};
    private static final String COMMITTED = "{'state':'committed','provider_receipt_id':'ch_9','evidence':'on the record'}";

    @TempDir
    Path directory;

    private ServerLab lab;
    private TestPostgres.Database database;
    private String run;
    private String effect;

    private void start(String rules, String expiry, Map<String, String> more) throws IOException {
        Path config = Files.writeString(directory.resolve("waybill.yaml"), """
                api_keys:
                  - {name: alice, key: the-key-of-alice}
                  - {name: bob, key: the-key-of-bob}
                four_eyes: {expiry: %s, rules: [%s]}
                """.formatted(expiry, rules));
        Map<String, String> environment = new HashMap<>(more);
        environment.put("WAYBILL_CONFIG", config.toString());
        lab = new ServerLab(directory, environment);
        lab.sequence("two", charge(""), ALICE);
        unknown();
    }

    private void unknown() {
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
        run = lab.start("two", "{'order':'F-1'}", ALICE);
        lab.await(run, "waiting", ALICE);
        effect = "/api/v1/effects/" + lab.effectOf(run, ALICE).path("effect_id").asString();
    }

    @AfterEach
    void stop() {
        lab.close();
        if (database != null) {
            database.drop();
        }
    }

    private JsonNode show() {
        return lab.get(effect, ALICE).json();
    }

    private String propose(String... key) {
        Http.Answer answer = lab.post(effect + "/resolve", COMMITTED, key);
        assertThat(answer.status()).as(answer.text()).isEqualTo(202);
        assertThat(answer.json().path("state").asString()).isEqualTo("unknown");
        return decision(answer.json());
    }

    private static String decision(JsonNode file) {
        JsonNode last = file.path("proposals").get(file.path("proposals").size() - 1);
        return "{'proposal_id':'" + last.path("proposal_id").asString() + "'}";
    }

    private String status(int proposal) {
        return show().path("proposals").get(proposal).path("status").asString();
    }

    @Test
    void aDecisionWaitsUntilAnotherKeyApprovesItAndThenTheRunGoesOn() throws IOException {
        whatTwoPeopleDecide(Map.of());
    }

    @Test
    void itIsTheSameOnPostgres() throws IOException {
        database = TestPostgres.database();
        whatTwoPeopleDecide(Map.of("WAYBILL_STORE", database.waybillUrl(), "WAYBILL_POOL", "4"));
    }

    private void whatTwoPeopleDecide(Map<String, String> environment) throws IOException {
        start("{kind: http}", "1h", environment);
        assertThat(lab.get("/api/v1/effects?proposed=true", BOB).json().path("items")).isEmpty();
        String proposal = propose(ALICE);
        JsonNode queue = lab.get("/api/v1/effects?proposed=true", BOB).json().path("items");
        assertThat(queue.findValuesAsString("effect_id")).containsExactly(effect.substring(effect.lastIndexOf('/') + 1));
        lab.get("/api/v1/effects?proposed=true&state=open", BOB).refused(400, "INVALID_PARAMETER");
        assertThat(show().path("next").get(0).asString()).startsWith("waybill effects approve ");

        lab.post(effect + "/approve", proposal, ALICE).refused(403, "FOUR_EYES_SAME_PRINCIPAL");
        lab.post(effect + "/approve", proposal, ALICE_AS_BOB).refused(403, "FOUR_EYES_SAME_PRINCIPAL");
        lab.post(effect + "/resolve", COMMITTED, BOB).refused(409, "PROPOSAL_PENDING");
        lab.post(effect + "/approve", "{'proposal_id':'0190b6f0-0000-7000-8000-000000000000'}", BOB).refused(404, "PROPOSAL_NOT_FOUND");
        assertThat(show().path("state").asString()).isEqualTo("unknown");

        JsonNode approved = lab.post(effect + "/approve", proposal, BOB).json();
        assertThat(approved.path("state").asString()).isEqualTo("committed");
        assertThat(approved.path("provider_receipt_id").asString()).isEqualTo("ch_9");
        assertThat(approved.path("proposals").get(0).path("status").asString()).isEqualTo("approved");
        assertThat(approved.path("evidence").findValuesAsString("kind")).containsExactly("proposal", "resolution", "proposal_approved");
        lab.await(run, "completed", ALICE);
        assertThat(lab.post(effect + "/approve", proposal, BOB).json().path("journal")).as("the answer was lost").isEqualTo(approved.path("journal"));
        assertThat(lab.get("/api/v1/effects?proposed=true", BOB).json().path("items")).isEmpty();
        assertThat(lab.get("/api/v1/changes?limit=500", ALICE).text()).contains("effect.proposed").contains("effect.resolved");
        assertThat(lab.get("/api/v1/instances/" + run + "/effects", ALICE).json().path("items")).hasSize(1);
        assertThat(lab.provider.applied()).isEqualTo(1);
    }

    @Test
    void aRejectedProposalMovesNothingAndMakesRoomForAnother() throws IOException {
        start("{destination: '" + "http_request http://127.0.0.1'}", "1h", Map.of());
        String proposal = propose(ALICE);
        lab.post(effect + "/reject", proposal, BOB).refused(422, "EVIDENCE_REQUIRED");
        JsonNode rejected = lab.post(effect + "/reject", proposal.replace("}", ",'note':'another order'}"), BOB).json();
        assertThat(rejected.path("state").asString()).isEqualTo("unknown");
        assertThat(status(0)).isEqualTo("rejected");
        lab.post(effect + "/approve", proposal, BOB).refused(409, "PROPOSAL_CLOSED");
        propose(BOB);
        assertThat(status(1)).isEqualTo("pending");
        assertThat(lab.get("/api/v1/changes?limit=500", ALICE).text()).contains("effect.rejected");
    }

    @Test
    void aProposalIsVoidOnceTheReceiptMoved() throws IOException {
        start("{kind: http}", "1h", Map.of());
        String first = propose(ALICE);
        lab.post(effect + "/approve", first, BOB);
        lab.await(run, "completed", ALICE);
        Http.Answer undo = lab.post(effect + "/resolve", "{'state':'compensated','evidence':'paid back'}", ALICE);
        assertThat(undo.status()).isEqualTo(202);
        assertThat(undo.json().path("state").asString()).isEqualTo("committed");
        lab.post(effect + "/approve", first, ALICE).refused(409, "PROPOSAL_CLOSED");
        assertThat(lab.post(effect + "/approve", decision(undo.json()), BOB).json().path("state").asString()).isEqualTo("compensated");
    }

    @Test
    void aProposalExpiresByTheDatabasesClock() throws IOException {
        start("{}", "1s", Map.of());
        String proposal = propose(ALICE);
        await().atMost(Duration.ofSeconds(30)).until(() -> status(0).equals("expired"));
        lab.post(effect + "/approve", proposal, BOB).refused(409, "PROPOSAL_CLOSED");
        assertThat(lab.get("/api/v1/effects?proposed=true", BOB).json().path("items")).isEmpty();
        propose(BOB);
    }

    @Test
    void ofTwoWhoCloseItAtOnceOneIsAnsweredAndTheReceiptMovesOnce() throws IOException {
        start("{kind: http}", "1h", Map.of());
        String proposal = propose(ALICE);
        String note = proposal.replace("}", ",'note':'no'}");
        CompletableFuture<Integer> approval = CompletableFuture.supplyAsync(() -> lab.http().post(effect + "/approve", proposal.replace('\'', '"'), BOB).status());
        int rejection = lab.http().post(effect + "/reject", note.replace('\'', '"'), ALICE).status();
        assertThat(List.of(approval.join(), rejection)).containsExactlyInAnyOrder(200, 409);
        JsonNode file = show();
        assertThat(file.path("state").asString()).isEqualTo(approval.join() == 200 ? "committed" : "unknown");
        assertThat(file.path("evidence").findValuesAsString("kind")).filteredOn(kind -> kind.startsWith("proposal_")).hasSize(1);
    }

    @Test
    void onlyAmountsAboveTheLimitTakeTwoPeopleAndTheProofIsAskedForBeforehand() throws IOException {
        start("{above: 5}", "1h", Map.of());
        lab.post(effect + "/resolve", "{'state':'committed','evidence':'seen'}", ALICE).refused(422, "EVIDENCE_REQUIRED");
        assertThat(lab.post(effect + "/resolve", COMMITTED, ALICE).status()).as("5 is not above 5").isEqualTo(200);

        lab.sequence("two", charge("").replace("'labels':{", "'labels':{'amount':'5.01 EUR',"), ALICE);
        unknown();
        String file = Base64.getEncoder().encodeToString("paper".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        Http.Answer proposed = lab.post(
                effect + "/resolve", "{'state':'committed','evidence':{'note':'see','file':{'name':'a.txt','content_base64':'" + file + "'}}}", ALICE);
        assertThat(proposed.status()).isEqualTo(202);
        assertThat(lab.post(effect + "/approve", decision(proposed.json()), BOB).json().path("state").asString()).isEqualTo("committed");

        unknown();
        JsonNode report = lab.post(
                        "/api/v1/effects/statement", Json.write(Json.NODES.objectNode().put("destination", lab.provider.url("/charges")).put("match", "label:order")
                                .put("apply", true).put("text", "reference,transaction,amount\nF-1,tr_1,5.01\n")), ALICE).json();
        assertThat(report.path("items").get(0).path("done").asBoolean()).isFalse();
        assertThat(report.path("items").get(0).path("why").asString()).contains("somebody else must approve it");
        assertThat(status(0)).isEqualTo("pending");
        assertThat(show().path("state").asString()).isEqualTo("unknown");
    }
}

package dev.waybill.server.api;

import static dev.waybill.server.api.ServerLab.charge;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.server.api.Http.Answer;
import dev.waybill.server.CaseSeal;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import dev.waybill.test.TestPostgres;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

/** Evidence, proof and two pairs of eyes, over HTTP on both databases. */
class DeskTest {
    /** What these tests see succeed. */
    static final List<String> OPERATIONS =
            List.of("listEvidence", "attachEvidence", "getEvidenceContent", "approveEffect", "rejectEffect", "listProposals", "importStatement", "exportEffect", "getSigningKey");

    private static final String[] ANN = {"x-api-key", "ann-has-a-key"};
    private static final String[] ANN_AS_BOB = {"x-api-key", "ann-has-a-key", "x-actor", "bob"};
    private static final String[] BOB = {"x-api-key", "bob-has-a-key"};
    private static final String COMMITTED = "{'state':'committed','provider_receipt_id':'ch_1','evidence':'seen in their books'}";

    enum Database {
        SQLITE,
        POSTGRES
    }

    @TempDir
    Path directory;

    /** What a test does with a server. */
    private interface Story {
        void tell(ServerLab lab) throws IOException;
    }

    private void on(Database kind, String fourEyes, Story story) throws IOException {
        Map<String, String> environment = new HashMap<>();
        Path config = directory.resolve("waybill.yaml");
        Files.writeString(config, "api_keys:\n  - {name: ann, key: ann-has-a-key}\n  - {name: bob, key: bob-has-a-key}\n" + fourEyes);
        environment.put("WAYBILL_CONFIG", config.toString());
        TestPostgres.Database database = kind == Database.POSTGRES ? TestPostgres.database() : null;
        if (database != null) {
            environment.put("WAYBILL_STORE", database.waybillUrl());
        }
        try (ServerLab lab = new ServerLab(directory, environment)) {
            story.tell(lab);
        } finally {
            if (database != null) {
                database.drop();
            }
        }
    }

    /** @return the id of its unknown effect */
    private static String unknown(ServerLab lab, String order) {
        lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.applyThenDrop()));
        if (lab.get("/api/v1/sequences/by-name?name=pay", ANN).status() == 404) {
            lab.sequence("pay", charge("").replace("{'order':'= data.order'}}", "{'order':'= data.order','amount':'= data.amount'}}"), ANN);
        }
        String run = lab.start("pay", "{'order':'" + order + "','amount':'" + (order.startsWith("big") ? "1000.01" : "1000.00") + "'}", ANN);
        lab.await(run, "waiting", ANN);
        return lab.effectOf(run, ANN).path("effect_id").asString();
    }

    private static JsonNode show(ServerLab lab, String id) {
        return lab.get("/api/v1/effects/" + id, ANN).json();
    }

    private static Answer post(ServerLab lab, String id, String what, String body, String[] who, String... more) {
        String[] headers = Arrays.copyOf(who, who.length + more.length);
        System.arraycopy(more, 0, headers, who.length, more.length);
        return lab.post("/api/v1/effects/" + id + "/" + what, body, headers);
    }

    @ParameterizedTest
    @EnumSource(Database.class)
    void evidenceIsKeptWithItsHashAndCanBeDownloadedAsItCame(Database kind) throws IOException {
        on(kind, "", lab -> {
            String id = unknown(lab, "a-1");
            byte[] bytes = {0, 1, 2, -1, 'x'};
            String file = "{'note':'their export','file':{'name':'s.bin','content_base64':'" + Base64.getEncoder().encodeToString(bytes) + "'}}";
            assertThat(post(lab, id, "evidence", "{'note':'I called them'}", ANN).status()).isEqualTo(201);
            assertThat(post(lab, id, "evidence", "{'link':'https://pay.example/x?y=1'}", BOB).status()).isEqualTo(201);
            assertThat(post(lab, id, "evidence", file, ANN, "Idempotency-Key", "once").status()).isEqualTo(201);
            assertThat(post(lab, id, "evidence", file, ANN, "Idempotency-Key", "once").status()).isEqualTo(201);
            JsonNode items = lab.get("/api/v1/effects/" + id + "/evidence", ANN).json().path("items");
            assertThat(items.findValuesAsString("kind")).containsExactly("note", "link", "file");
            assertThat(items.get(1).path("actor").asString()).isEqualTo("operator:bob");
            assertThat(items.get(2).path("body").path("sha256").asString()).isEqualTo(sha256(bytes));
            assertThat(lab.get("/api/v1/effects/" + id + "/evidence/3/content", ANN).raw().body()).isEqualTo(bytes);
            lab.get("/api/v1/effects/" + id + "/evidence/1/content", ANN).refused(404, "EVIDENCE_NOT_FOUND");
            lab.get("/api/v1/effects/" + id + "/evidence/4/content", ANN).refused(404, "EVIDENCE_NOT_FOUND");
            assertThat(show(lab, id).path("state").asString()).isEqualTo("unknown");
        });
    }

    private static String sha256(byte[] bytes) {
        return new dev.waybill.operate.Attachment("x", "a/b", bytes).sha256();
    }

    @ParameterizedTest
    @EnumSource(Database.class)
    void anOutcomeWithoutItsProofIsRefusedAtThePointerAndLeavesNoRow(Database kind) throws IOException {
        on(kind, "", lab -> {
            String id = unknown(lab, "a-1");
            String file = "'file':{'name':'s.csv','content_base64':'%s'}";
            String tooLarge = Base64.getEncoder().encodeToString(new byte[512 * 1024 + 1]);
            Map<String, String> resolutions = Map.of(
                    "{'state':'committed','evidence':'seen'}", "/provider_receipt_id",
                    "{'state':'committed','evidence':'seen','provider_receipt_id':' '}", "/provider_receipt_id",
                    "{'state':'committed','provider_receipt_id':'ch_1'}", "/evidence",
                    "{'state':'verified','evidence':' '}", "/evidence",
                    "{'state':'abandoned'}", "/evidence",
                    "{'state':'compensated'}", "/evidence",
                    "{'state':'verified','evidence':{'note':'x','link':'javascript:alert(1)'}}", "/evidence/link",
                    "{'state':'committed','evidence':{'note':'x'," + file.formatted(tooLarge) + "}}", "/evidence/file",
                    "{'state':'committed','evidence':{'note':'x'," + file.formatted("") + "}}", "/evidence/file");
            resolutions.forEach((body, pointer) -> {
                Answer answer = post(lab, id, "resolve", body, ANN);
                assertThat(answer.status()).as(body.substring(0, Math.min(80, body.length()))).isEqualTo(422);
                assertThat(answer.json().path("pointer").asString()).isEqualTo(pointer);
            });
            post(lab, id, "evidence", "{}", ANN).refused(422, "EVIDENCE_REQUIRED");
            post(lab, id, "evidence", "{'link':'https://user:pw@pay.example/'}", ANN).refused(422, "EVIDENCE_INVALID");
            post(lab, id, "evidence", "{" + file.formatted("QQ==").replace("s.csv", "../s.csv") + "}", ANN).refused(422, "EVIDENCE_INVALID");
            post(lab, id, "evidence", "{" + file.formatted("***") + "}", ANN).refused(400, "INVALID_FIELD");
            assertThat(lab.get("/api/v1/effects/" + id + "/evidence", ANN).json().path("items")).isEmpty();
            assertThat(show(lab, id).path("state").asString()).isEqualTo("unknown");

            // A record proves it where the provider gave no id.
            String record = Base64.getEncoder().encodeToString("id,amount\n,5\n".getBytes(StandardCharsets.UTF_8));
            String proven = "{'state':'committed','evidence':{'note':'in their statement'," + file.formatted(record) + "}}";
            assertThat(post(lab, id, "resolve", proven, ANN).status()).isEqualTo(200);
            JsonNode done = show(lab, id);
            assertThat(done.path("state").asString()).isEqualTo("committed");
            assertThat(done.path("evidence").findValuesAsString("kind")).containsExactly("resolution", "file");
            assertThat(done.path("journal").valueStream().reduce((_, last) -> last).orElseThrow().path("actor").asString()).isEqualTo("operator:ann");
            lab.await(done.path("instance_id").asString(), "completed", ANN);
        });
    }

    private static final String ABOVE_1000 =
            "four_eyes:\n  expiry: 1h\n  rules:\n    - {name: large, kind: http, destination: 'http*', label: amount, above: '1000'}\n";

    @ParameterizedTest
    @EnumSource(Database.class)
    void aLargeAmountNeedsAnotherPrincipalAndItsApprovalResumesTheRun(Database kind) throws IOException {
        on(kind, ABOVE_1000, lab -> {
            String small = unknown(lab, "small-1");
            assertThat(post(lab, small, "resolve", COMMITTED, ANN).status()).isEqualTo(200);

            String id = unknown(lab, "big-1");
            String file = Base64.getEncoder().encodeToString("their record".getBytes(StandardCharsets.UTF_8));
            String proven = "{'state':'committed','evidence':{'note':'seen','file':{'name':'s.txt','content_base64':'" + file + "'}},'output':{'n':1}}";
            Answer proposed = post(lab, id, "resolve", proven, ANN, "Idempotency-Key", "k1");
            assertThat(proposed.status()).as(proposed.text()).isEqualTo(202);
            assertThat(proposed.json().path("state").asString()).isEqualTo("unknown");
            JsonNode proposal = proposed.json().path("proposals").get(0);
            assertThat(proposal.path("status").asString()).isEqualTo("pending");
            assertThat(proposal.path("rule").asString()).isEqualTo("large");
            assertThat(post(lab, id, "resolve", proven, ANN, "Idempotency-Key", "k1").status()).isEqualTo(202);
            post(lab, id, "resolve", COMMITTED, BOB).refused(409, "PROPOSAL_PENDING");
            assertThat(lab.get("/api/v1/proposals", BOB).json().path("items").findValuesAsString("effect_id")).containsExactly(id);

            String body = "{'proposal_id':'" + proposal.path("proposal_id").asString() + "'}";
            post(lab, id, "approve", body, ANN).refused(403, "FOUR_EYES_SAME_PRINCIPAL");
            post(lab, id, "approve", body, ANN_AS_BOB).refused(403, "FOUR_EYES_SAME_PRINCIPAL");
            post(lab, id, "approve", "{'proposal_id':'" + id + "'}", BOB).refused(404, "PROPOSAL_NOT_FOUND");
            post(lab, id, "approve", "{}", BOB).refused(400, "MISSING_FIELD");
            assertThat(show(lab, id).path("state").asString()).isEqualTo("unknown");

            assertThat(post(lab, id, "approve", body, BOB).status()).isEqualTo(200);
            JsonNode done = show(lab, id);
            assertThat(done.path("state").asString()).isEqualTo("committed");
            assertThat(done.path("proposals").get(0).path("status").asString()).isEqualTo("approved");
            assertThat(done.path("evidence").findValuesAsString("kind")).containsExactly("file", "proposal", "resolution", "approval");
            assertThat(done.path("evidence").get(3).path("actor").asString()).isEqualTo("operator:bob");
            JsonNode run = lab.await(done.path("instance_id").asString(), "completed", ANN);
            assertThat(run.path("output").path("n").asInt()).as(run.toString()).isEqualTo(1);
            post(lab, id, "approve", body, BOB).refused(409, "PROPOSAL_ENDED");
            assertThat(lab.get("/api/v1/proposals", BOB).json().path("items")).isEmpty();
        });
    }

    @ParameterizedTest
    @EnumSource(Database.class)
    void aRejectedProposalChangesNothingAndAnotherCanBeMade(Database kind) throws IOException {
        on(kind, ABOVE_1000, lab -> {
            String id = unknown(lab, "big-1");
            JsonNode first = post(lab, id, "resolve", COMMITTED, ANN).json().path("proposals").get(0);
            String body = "{'proposal_id':'" + first.path("proposal_id").asString() + "'";
            post(lab, id, "reject", body + ",'note':' '}", BOB).refused(422, "EVIDENCE_REQUIRED");
            assertThat(post(lab, id, "reject", body + ",'note':'that is another order'}", BOB).status()).isEqualTo(200);
            assertThat(show(lab, id).path("state").asString()).isEqualTo("unknown");
            post(lab, id, "approve", body + "}", BOB).refused(409, "PROPOSAL_ENDED");

            JsonNode proposals = post(lab, id, "resolve", "{'state':'verified','evidence':'seen'}", ANN).json().path("proposals");
            String second = "{'proposal_id':'" + proposals.get(1).path("proposal_id").asString() + "'}";
            assertThat(post(lab, id, "approve", second, BOB).status()).isEqualTo(200);
            JsonNode third = post(lab, id, "resolve", "{'state':'compensated','evidence':'refunded'}", ANN).json().path("proposals").get(2);
            assertThat(third.path("status").asString()).isEqualTo("pending");
            post(lab, id, "resolve", "{'state':'compensated','evidence':'refunded'}", ANN).refused(409, "PROPOSAL_PENDING");
            assertThat(post(lab, id, "approve", "{'proposal_id':'" + third.path("proposal_id").asString() + "'}", BOB).status()).isEqualTo(200);
            assertThat(show(lab, id).path("state").asString()).isEqualTo("compensated");
        });
    }

    private static String statement(String destination, String more, String csv) {
        return "{'name':'april.csv','destination':'" + destination + "','columns':{'key':'Reference','id':'Charge','amount':'Amount'}," + more
                + "'content':'" + csv.replace("\n", "\\n") + "'}";
    }

    private static Answer imported(ServerLab lab, String body, String[] who) {
        return lab.post("/api/v1/effects/import-statement", body, who);
    }

    private static String keyed(ServerLab lab, String order, String amount) {
        lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.applyThenDrop()));
        if (lab.get("/api/v1/sequences/by-name?name=keyed", ANN).status() == 404) {
            lab.sequence("keyed", charge("").replace(
                    "'effect':{'labels':{'order':'= data.order'}}",
                    "'on_unknown':['wait'],'effect':{'settle':0,'idempotency':{'key':'= \\'charge-\\' & data.order','header':'Idempotency-Key','window':'24h'},"
                            + "'labels':{'amount':'= data.amount'}}").replace("\\'", "\\u0027"), ANN);
        }
        String run = lab.start("keyed", "{'order':'" + order + "','amount':'" + amount + "'}", ANN);
        lab.await(run, "waiting", ANN);
        return lab.effectOf(run, ANN).path("effect_id").asString();
    }

    @ParameterizedTest
    @EnumSource(Database.class)
    void aStatementIsMatchedThreeWaysAndAppliedOnce(Database kind) throws IOException {
        on(kind, ABOVE_1000, lab -> {
            String paid = keyed(lab, "1", "12.50");
            String other = keyed(lab, "2", "9007199254740993.10");
            String twice = keyed(lab, "3", "5");
            String absent = keyed(lab, "4", "7");
            String destination = lab.provider.url("/charges");
            String csv = "Reference,Charge,Amount\ncharge-1,ch_1,12.5\ncharge-2,ch_2,9007199254740993.11\ncharge-3,ch_3,5\ncharge-3,ch_4,5\n"
                    + "charge-9,ch_9,1\n";
            Answer dry = imported(lab, statement(destination, "", csv), ANN);
            assertThat(dry.status()).as(dry.text()).isEqualTo(200);
            assertThat(kinds(dry)).containsExactly("matched", "amount_differs", "ambiguous", "ambiguous", "orphan", "missing");
            assertThat(dry.json().path("rows").get(0).path("action").asString()).isEqualTo("would_commit");
            assertThat(dry.json().path("rows").get(5).path("effect_id").asString()).isEqualTo(absent);
            assertThat(show(lab, paid).path("evidence")).isEmpty();

            Answer applied = imported(lab, statement(destination, "'apply':true,", csv), ANN);
            assertThat(applied.json().path("rows").get(0).path("action").asString()).isEqualTo("committed");
            JsonNode done = show(lab, paid);
            assertThat(done.path("state").asString()).isEqualTo("committed");
            assertThat(done.path("provider_receipt_id").asString()).isEqualTo("ch_1");
            assertThat(lab.get("/api/v1/effects/" + paid + "/evidence/2/content", ANN).text()).isEqualTo("charge-1,ch_1,12.5");
            lab.await(done.path("instance_id").asString(), "completed", ANN);
            for (String untouched : List.of(other, twice, absent)) {
                assertThat(show(lab, untouched).path("state").asString()).isEqualTo("unknown");
            }
            Answer again = imported(lab, statement(destination, "'apply':true,", csv), ANN);
            assertThat(kinds(again)).containsExactly("settled", "amount_differs", "ambiguous", "ambiguous", "orphan", "missing");
            assertThat(show(lab, paid).path("evidence")).hasSize(2);

            // Too large for one person: the statement only proposes.
            Answer large = imported(lab, statement(destination, "'apply':true,", csv.replace("993.11", "993.10")), ANN);
            assertThat(large.json().path("rows").get(1).path("action").asString()).isEqualTo("proposed");
            assertThat(show(lab, other).path("state").asString()).isEqualTo("unknown");
        });
    }

    @ParameterizedTest
    @EnumSource(Database.class)
    void aStatementThatNamesOrdersAndNoKeysIsMatchedByTheLabel(Database kind) throws IOException {
        on(kind, "", lab -> {
            String paid = keyed(lab, "1", "12.50 EUR");
            String other = keyed(lab, "2", "8 EUR");
            String twinA = keyed(lab, "3", "9 EUR");
            String twinB = keyed(lab, "4", "9 EUR");
            String csv = "Reference,Charge,Amount,currency\n12.50 EUR,ch_1,12.5,EUR\n8 EUR,ch_2,8,USD\n9 EUR,ch_3,9,EUR\nkey-of-none,ch_4,1,EUR\n";
            Answer applied = imported(lab, statement(lab.provider.url("/charges"), "'match_label':'amount','apply':true,", csv), ANN);
            assertThat(kinds(applied)).containsExactly("matched", "amount_differs", "ambiguous", "orphan");
            assertThat(show(lab, paid).path("state").asString()).isEqualTo("committed");
            for (String untouched : List.of(other, twinA, twinB)) {
                assertThat(show(lab, untouched).path("state").asString()).isEqualTo("unknown");
            }
        });
    }

    private static List<String> kinds(Answer answer) {
        return answer.json().path("rows").findValuesAsString("kind");
    }

    @ParameterizedTest
    @EnumSource(Database.class)
    void whatIsMissingIsWrittenOffOnlyWhenTheStatementCoversItAndItIsQuiet(Database kind) throws IOException {
        on(kind, "", lab -> {
            String absent = keyed(lab, "1", "7");
            String destination = lab.provider.url("/cha*");
            String csv = "Reference,Charge,Amount\n";
            String covers = "'apply':true,'covers':{'from':'2000-01-01T00:00:00Z','to':'%s'},";
            assertThat(imported(lab, statement(destination, "'apply':true,", csv), ANN).json().path("rows").get(0).path("why").asString()).contains("--covers");
            imported(lab, statement(destination, covers.formatted("2001-01-01T00:00:00Z"), csv), ANN);
            assertThat(show(lab, absent).path("state").asString()).isEqualTo("unknown");
            org.awaitility.Awaitility.await().until(() -> show(lab, absent).path("quiet").asBoolean());
            Answer doubtful = imported(lab, statement(destination, covers.formatted("2100-01-01T00:00:00Z"), csv + "chrage-1,ch_1,7.0\n"), ANN);
            assertThat(doubtful.json().path("rows").get(1).path("why").asString()).startsWith("line 2, which no receipt belongs to, could be it");
            assertThat(show(lab, absent).path("state").asString()).isEqualTo("unknown");
            Answer done = imported(lab, statement(destination, covers.formatted("2100-01-01T00:00:00Z"), csv + "other,ch_8,7.01\n"), ANN);
            assertThat(done.json().path("rows").get(1).path("action").asString()).as(done.text()).isEqualTo("abandoned");
            assertThat(show(lab, absent).path("state").asString()).isEqualTo("abandoned");

            String late = "charge-1,ch_1,7\n";
            assertThat(imported(lab, statement(destination, "", csv + late), ANN).json().path("rows").get(0).path("action").asString()).isEqualTo("would_record");
            int before = show(lab, absent).path("evidence").size();
            for (int twice = 0; twice < 2; twice++) {
                Answer recorded = imported(lab, statement(destination, "'apply':true,", csv + late), ANN);
                assertThat(recorded.json().path("rows").get(0).path("kind").asString()).isEqualTo("contradiction");
                assertThat(recorded.json().path("rows").get(0).path("action").asString()).isEqualTo("recorded");
            }
            assertThat(show(lab, absent).path("evidence")).hasSize(before + 1);
            assertThat(show(lab, absent).path("state").asString()).isEqualTo("abandoned");

            imported(lab, statement(destination, "", "Reference,Charge\nx,y\n"), ANN).refused(400, "STATEMENT_INVALID");
            imported(lab, statement(destination, "", "Reference,Charge,Amount\nx,y,1,5\n"), ANN).refused(400, "STATEMENT_INVALID");
            imported(lab, statement(destination, "", "Reference,Charge,Amount\nx,y,1e3\n"), ANN).refused(400, "STATEMENT_INVALID");
            imported(lab, statement(destination, "'format':'jsonl',", "{\\'Reference\\':1.5}\n[]"), ANN).refused(400, "STATEMENT_INVALID");
            imported(lab, statement(destination, "'missing_then':'continue',", csv), ANN).refused(400, "INVALID_FIELD");
        });
    }

    @ParameterizedTest
    @EnumSource(Database.class)
    void anExportedCaseIsCheckedWithoutAServerAndTheSmallestChangeIsSeen(Database kind) throws IOException {
        on(kind, "", lab -> {
            String id = unknown(lab, "a-1");
            String file = Base64.getEncoder().encodeToString(new byte[] {0, -1, 7});
            post(lab, id, "evidence", "{'note':'theirs','file':{'name':'s.bin','content_base64':'" + file + "'}}", ANN);
            post(lab, id, "resolve", COMMITTED, ANN);
            lab.await(show(lab, id).path("instance_id").asString(), "completed", ANN);
            String key = lab.get("/api/v1/signing-key", ANN).json().path("public_key").asString();
            assertThat(lab.get("/api/v1/signing-key", BOB).json().path("public_key").asString()).isEqualTo(key);
            Answer exported = lab.get("/api/v1/effects/" + id + "/export", ANN);
            assertThat(exported.json().path("entries").findValuesAsString("type"))
                    .contains("receipt", "journal", "evidence", "run", "output");
            assertThat(CaseSeal.fault(exported.json(), key)).isEmpty();
            assertThat(CaseSeal.fault(exported.json(), null)).isEmpty();
            assertThat(CaseSeal.fault(exported.json(), key.replace('A', 'B'))).hasValueSatisfying(why -> assertThat(why).contains("another key"));
            String text = exported.text();
            for (String changed : List.of(
                    text.replace("seen in their books", "seen in their bookz"),
                    text.replace("\"state\":\"committed\"", "\"state\":\"abandoned\""),
                    text.replace(file, "AP8I"),
                    text.replaceFirst("\"exported_at\":\"2", "\"exported_at\":\"3"),
                    text.replaceFirst("\"value\":\"..", "\"value\":\"zz"))) {
                assertThat(changed).isNotEqualTo(text);
                assertThat(CaseSeal.fault(dev.waybill.json.Json.parse(changed), key)).isPresent();
            }
            var shorter = (tools.jackson.databind.node.ObjectNode) exported.json();
            ((tools.jackson.databind.node.ArrayNode) shorter.path("entries")).remove(shorter.path("entries").size() - 1);
            assertThat(CaseSeal.fault(shorter, key)).hasValue("entries are missing at its end");
        });
    }
}

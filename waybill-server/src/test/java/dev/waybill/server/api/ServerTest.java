package dev.waybill.server.api;

import static dev.waybill.server.api.ServerLab.charge;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** The API over a real engine; every answer is held against its schema by {@link ServerLab}. */
class ServerTest {
    private static final String INSTANCES = "/api/v1/instances/";
    private static final String RANDOM = "0190b6f0-0000-7000-8000-000000000000";

    @TempDir
    static Path directory;

    private static ServerLab lab;
    private static int tests;

    @BeforeAll
    static void start() {
        lab = new ServerLab(directory, Map.of());
    }

    /** Which operations the tests of this class have seen succeed; a route nobody exercises is a route nobody knows. */
    @AfterAll
    static void stop() {
        boolean whole = tests == Arrays.stream(ServerTest.class.getDeclaredMethods()).filter(m -> m.isAnnotationPresent(Test.class)).count();
        TreeSet<String> unseen = new TreeSet<>(lab.server.api().endpoints().stream().map(Endpoint::operationId).toList());
        unseen.removeAll(lab.answered());
        unseen.removeAll(DeskTest.OPERATIONS);
        lab.close();
        if (whole) {
            // The two paths of the output are one route; the CLI tests use the other. DeskTest sees its own.
            assertThat(unseen).as("operations that no test saw succeed").isSubsetOf("supplyEffectOutput");
        }
    }

    @BeforeEach
    void resetProvider() {
        tests++;
        lab.provider.reset();
    }

    @Test
    void theServerSaysWhatItIsAndThatItIsReady() {
        assertThat(lab.get("/health/live").status()).isEqualTo(200);
        assertThat(lab.get("/health/ready").json().path("status").asString()).isEqualTo("ready");
        assertThat(lab.get("/api/v1/info").json().path("store").asString()).startsWith("sqlite:");
        assertThat(lab.get("/api/v1/cluster/nodes").json().path("items")).hasSize(1);
        assertThat(lab.get("/openapi.json").status()).isEqualTo(200);
        assertThat(lab.get("/errors/EFFECT_UNRESOLVED").text()).startsWith("# EFFECT_UNRESOLVED");
        assertThat(lab.post("/api/v1/store/accept", "{}").json().path("released").asInt()).isZero();
    }

    @Test
    void aDeclaredInvariantRefusesTheSecondEffectAndItsResultsCanBeRead() {
        String step = "{'type':'step','id':'%s','handler':'http_request','params':{'method':'POST','url':'" + lab.provider.url("/charges") + "','body':{'amount':5}}}";
        String sequence = lab.sequence("guarded", step.formatted("first") + "," + step.formatted("second"));
        String body = "{'sequence_id':'" + sequence + "','name':'one-charge','rule':{'type':'effect_at_most_once','kind':'http'},'commit_guard':true}";
        JsonNode declared = lab.post("/api/v1/continuity/invariants", body).json();
        assertThat(declared.path("effective_within_ms").asInt()).isEqualTo(5000);
        lab.post("/api/v1/continuity/invariants", body).refused(409, "INVARIANT_EXISTS");
        lab.post("/api/v1/continuity/invariants", body.replace("'http'", "'smtp'").replace("one-charge", "x")).refused(422, "INVALID_INVARIANT");
        lab.post("/api/v1/continuity/invariants", body.replace(sequence, RANDOM)).refused(404, "SEQUENCE_NOT_FOUND");
        lab.post("/api/v1/continuity/invariants", body.replace("'name'", "'sequence_version':7,'name'")).refused(422, "INVALID_VALUE");
        assertThat(lab.get("/api/v1/continuity/invariants?sequence_id=" + sequence).json().path("items")).hasSize(1);
        lab.get("/api/v1/continuity/invariants?sequence_id=x").refused(400, "INVALID_PARAMETER");

        JsonNode run = lab.await(lab.start("guarded", "{}"), "failed");
        assertThat(run.path("error").path("code").asString()).isEqualTo("INVARIANT_VIOLATION");
        JsonNode results = lab.get("/api/v1/continuity/executions/" + run.path("continuity_id").asString() + "/invariants/results").json();
        assertThat(results.path("items")).hasSize(2);
        assertThat(results.path("items").get(0).path("block").asString()).isEqualTo("second");
        assertThat(results.path("items").get(0).path("outcome").asString()).isEqualTo("violated");
    }

    @Test
    void aSequenceIsPublishedOnceAndFoundByNameAndByVersion() {
        String first = lab.sequence("life", "{'type':'step','id':'a','handler':'noop','params':{}}");
        String second = lab.sequence("life", "{'type':'step','id':'b','handler':'noop','params':{}}");
        assertThat(lab.get("/api/v1/sequences/" + first).json().path("version").asInt()).isEqualTo(1);
        assertThat(lab.get("/api/v1/sequences/by-name?name=life").json().path("id").asString()).isEqualTo(second);
        assertThat(lab.get("/api/v1/sequences/by-name?name=life&version=1").json().path("id").asString()).isEqualTo(first);
        assertThat(lab.get("/api/v1/sequences/" + first + "/versions").json().path("items")).hasSize(2);
        assertThat(lab.get("/api/v1/sequences/versions?name=life").json().path("items")).hasSize(2);
        assertThat(lab.post("/api/v1/sequences/" + second + "/deprecate", "{}").json().path("deprecated").asBoolean()).isTrue();
        assertThat(lab.get("/api/v1/sequences/by-name?name=life").json().path("id").asString()).isEqualTo(first);
        lab.post("/api/v1/sequences", "{'name':'life','version':1,'blocks':[{'type':'step','id':'c','handler':'noop'}]}")
                .refused(409, "SEQUENCE_EXISTS");
        lab.get("/api/v1/sequences/by-name?name=nobody").refused(404, "SEQUENCE_NOT_FOUND");
        lab.get("/api/v1/sequences/" + RANDOM).refused(404, "SEQUENCE_NOT_FOUND");
    }

    @Test
    void listsArePagedWithoutGapsOrRepeats() {
        for (int i = 0; i < 5; i++) {
            lab.sequence("paged-" + i, "{'type':'step','id':'a','handler':'noop','params':{}}");
        }
        TreeSet<String> seen = new TreeSet<>();
        int items = 0;
        String cursor = "";
        do {
            JsonNode page = lab.get("/api/v1/sequences?limit=2" + cursor).json();
            for (JsonNode item : page.path("items")) {
                seen.add(item.path("id").asString());
                items++;
            }
            cursor = page.path("next_cursor").isNull() ? "" : "&cursor=" + page.path("next_cursor").asString();
        } while (!cursor.isEmpty());
        assertThat(items).isEqualTo(seen.size()).isGreaterThanOrEqualTo(5);
    }

    @Test
    void yamlIsTakenAsTheSameDocument() {
        String yaml = """
                name: from-yaml
                blocks:
                  - type: step
                    id: a
                    handler: transform
                    params: {big: 12345678901234567890, exact: 1.10, no: "no"}
                """;
        Http.Answer answer = lab.http().send(
                "POST", "/api/v1/sequences", yaml.getBytes(StandardCharsets.UTF_8), "Content-Type", "application/yaml");
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        String run = lab.start("from-yaml", "{}");
        lab.await(run, "completed");
        assertThat(Json.write(lab.get(INSTANCES + run + "/outputs").json().path("a")))
                .contains("12345678901234567890")
                .contains("\"no\":\"no\"");
    }

    @Test
    void validationNamesEveryFaultWithItsPlaceAndPublishesNothing() {
        JsonNode report = lab.post(
                        "/api/v1/sequences/validate",
                        "{'name':'faulty','blocks':[{'type':'step','id':'a'},{'type':'step','id':'a','handler':'noop'}]}")
                .json();
        assertThat(report.path("valid").asBoolean()).isFalse();
        assertThat(report.path("faults").size()).isGreaterThanOrEqualTo(2);
        lab.get("/api/v1/sequences/by-name?name=faulty").refused(404, "SEQUENCE_NOT_FOUND");
        lab.post("/api/v1/sequences", "{'name':'faulty','blocks':[{'type':'step','id':'a'}]}").refused(422, "INVALID_SEQUENCE");
    }

    @Test
    void aKeyStartsARunOnce() {
        lab.sequence("keyed", "{'type':'step','id':'a','handler':'noop','params':{}}");
        String body = "{'sequence_name':'keyed','context':{'data':{'n':1}},'metadata':{'order':'K-1'}}";
        Http.Answer first = lab.post("/api/v1/instances", body, "Idempotency-Key", "k-1");
        Http.Answer again = lab.post("/api/v1/instances", body, "Idempotency-Key", "k-1");
        assertThat(first.status()).isEqualTo(201);
        assertThat(first.json().path("deduplicated").asBoolean()).isFalse();
        assertThat(first.header("location")).isEqualTo(INSTANCES + first.json().path("id").asString());
        assertThat(again.status()).isEqualTo(200);
        assertThat(again.json().path("deduplicated").asBoolean()).isTrue();
        assertThat(again.json().path("id")).isEqualTo(first.json().path("id"));
        lab.post("/api/v1/instances", body.replace("1}}", "2}}"), "Idempotency-Key", "k-1").refused(422, "IDEMPOTENCY_KEY_REUSED");
        lab.post("/api/v1/instances", body, "Idempotency-Key", "").refused(400, "IDEMPOTENCY_KEY_INVALID");
        assertThat(lab.get("/api/v1/instances?metadata.order=K-1").json().path("items")).hasSize(1);
        assertThat(lab.get("/api/v1/instances?metadata.order=K-2").json().path("items")).isEmpty();
    }

    @Test
    void aFinishedRunShowsItsOutputsTreeReceiptsAndContext() {
        String sequence = lab.sequence("pay", charge(""));
        String run = lab.start("pay", "{'order':'A-1'}");
        JsonNode view = lab.await(run, "completed");

        assertThat(view.path("sequence_id").asString()).isEqualTo(sequence);
        assertThat(lab.get(INSTANCES + run + "/state").json().path("state").asString()).isEqualTo("completed");
        assertThat(lab.get(INSTANCES + run + "/context").json().path("data").path("order").asString()).isEqualTo("A-1");
        assertThat(lab.get(INSTANCES + run + "/outputs").json().path("charge").path("status").asInt()).isBetween(200, 299);
        assertThat(lab.get(INSTANCES + run + "/tree").json().path("items").get(0).path("status").asString()).isEqualTo("completed");
        JsonNode effect = lab.effectOf(run);
        assertThat(effect.path("state").asString()).isEqualTo("committed");
        assertThat(effect.path("block_id").asString()).isEqualTo("charge");
        assertThat(effect.path("labels").path("order").asString()).isEqualTo("A-1");
        String execution = view.path("continuity_id").asString();
        assertThat(lab.get("/api/v1/continuity/executions/" + execution + "/effects").json().path("items")).hasSize(1);
        assertThat(lab.get("/api/v1/instances?state=completed&sequence_id=" + sequence).json().path("items")).hasSize(1);
    }

    @Test
    void anUnknownEffectIsQueuedOpenedAndResolvedAndTheRunGoesOn() {
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
        lab.sequence("lost", charge("") + ",{'type':'step','id':'ship','handler':'transform','params':{'paid':'= outputs.charge.provider_receipt_id'}}");
        String run = lab.start("lost", "{'order':'B-7'}");
        JsonNode waiting = lab.await(run, "waiting");
        assertThat(waiting.path("reasons").get(0).path("reason").asString()).isEqualTo("effect_unknown");

        JsonNode queue = lab.get("/api/v1/effects?state=open&q=B-7").json().path("items");
        assertThat(queue).hasSize(1);
        String id = queue.get(0).path("effect_id").asString();
        assertThat(queue.get(0).path("state").asString()).isEqualTo("unknown");
        assertThat(queue.get(0).path("next").get(0).asString()).contains("waybill effects resolve " + id);
        JsonNode file = lab.get("/api/v1/effects/" + id.substring(0, 8)).json();
        assertThat(file.path("effect_id").asString()).isEqualTo(id);
        assertThat(file.path("journal").size()).isPositive();
        assertThat(lab.get("/metrics").text())
                .contains("waybill_effects_unresolved{")
                .contains("waybill_effects_oldest_unresolved_seconds{")
                .contains("kind=\"http\"");

        String resolve = "/api/v1/effects/" + id + "/resolve";
        lab.post(resolve, "{'state':'committed','provider_receipt_id':'ch_1'}").refused(422, "EVIDENCE_REQUIRED");
        lab.post(resolve, "{'state':'committed','evidence':'seen'}").refused(422, "EVIDENCE_REQUIRED");
        lab.post(resolve, "{'state':'dispatched','evidence':'seen'}").refused(400, "INVALID_FIELD");
        JsonNode resolved = lab.post(
                        "/api/v1/continuity/effects/" + id + "/resolve",
                        "{'state':'committed','provider_receipt_id':'ch_1','evidence':{'note':'seen in the ledger','link':'https://example.test/ch_1'}}",
                        "x-actor", "alice", "Idempotency-Key", "resolve-B-7")
                .json();
        assertThat(resolved.path("state").asString()).isEqualTo("committed");
        assertThat(resolved.path("provider_receipt_id").asString()).isEqualTo("ch_1");
        assertThat(Json.write(resolved.path("journal"))).contains("operator:alice");
        lab.post(resolve, "{'state':'committed','provider_receipt_id':'ch_1','evidence':'again'}").refused(409, "EFFECT_NOT_UNKNOWN");
        String sameAgain = "{'state':'committed','provider_receipt_id':'ch_1','evidence':'seen in the ledger'}";
        assertThat(lab.post(resolve, sameAgain, "Idempotency-Key", "resolve-B-7").json().path("journal"))
                .isEqualTo(resolved.path("journal"));
        lab.post(resolve, "{'state':'abandoned','evidence':'no'}", "Idempotency-Key", "resolve-B-7").refused(409, "EFFECT_NOT_UNKNOWN");

        lab.await(run, "completed");
        assertThat(lab.get(INSTANCES + run + "/outputs").json().path("ship").path("paid").asString()).isEqualTo("ch_1");
        assertThat(lab.provider.applied()).isEqualTo(1);
        assertThat(lab.get("/api/v1/effects/" + id).json().path("evidence").size()).isPositive();
    }

    @Test
    void theCaseFileSaysWhatTheEngineWillDoAndAskingNowIsRecorded() {
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()), Rule.on("GET", "/charges").then(
                Behaviour.answer(500), Behaviour.answer(200, java.util.Map.of(), "{\"count\":0}")));
        lab.sequence("verified", charge(",'on_unknown':['verify','wait']").replace("'effect':{", "'effect':{'verify':{'every':'1h','params':{'url':'"
                + lab.provider.url("/charges?order={{ data.order }}") + "'},'landed':'= body.count > 0','absent':'= body.count = 0'},"));
        String run = lab.start("verified", "{'order':'V-1'}");
        JsonNode waiting = lab.await(run, "waiting");
        assertThat(waiting.path("reasons").get(0).path("next").asString()).isEqualTo("verify");
        String id = lab.effectOf(run).path("effect_id").asString();
        JsonNode healing = lab.get("/api/v1/effects/" + id).json().path("healing");
        assertThat(healing.path("next").asString()).isEqualTo("verify");
        assertThat(healing.path("reads").asInt()).isEqualTo(1);
        assertThat(healing.path("last_verdict").asString()).isEqualTo("inconclusive");
        assertThat(java.time.Instant.parse(healing.path("at").asString())).isAfter(java.time.Instant.now().plusSeconds(600));

        JsonNode early = lab.post("/api/v1/continuity/effects/" + id + "/verify", "{}", "x-actor", "alice").json();
        assertThat(early.path("state").asString()).isEqualTo("unknown"); // absent, and too early to count
        assertThat(early.path("healing").path("negative_reads").asInt()).isZero();
        JsonNode landed = lab.post("/api/v1/effects/" + id + "/verify", "{}", "x-actor", "alice").json();
        assertThat(landed.path("state").asString()).isEqualTo("verified");
        assertThat(landed.path("healing").isNull()).isTrue();
        assertThat(landed.path("evidence").get(2).path("body").path("verdict").asString()).isEqualTo("landed");
        lab.await(run, "completed");
        lab.post("/api/v1/effects/" + id + "/verify", "{}").refused(409, "EFFECT_NOT_UNKNOWN");
        assertThat(lab.post("/api/v1/sequences/validate", "{'name':'g','blocks':[{'type':'step','id':'a','handler':'noop'}]}").json()
                .path("guarantees").get(0).path("guarantee").asString()).isEqualTo("pure");
    }

    @Test
    void aDestinationHasItsLinkItsPromiseAndIsHeldByHand() {
        lab.provider.script(Rule.on("POST", "/v9/charges").then(Behaviour.applyThenDrop()));
        String profile = "{'name':'nine','match':{'url':'" + lab.provider.url("/v9") + "'},'preset':'stripe','hold':{'probe':'100ms'},"
                + "'search':'https://dashboard.pay.example/search?q={{ key }}'}";
        String step = "{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'" + lab.provider.url("/v9/charges")
                + "'},'effect':{'idempotency':{'key':'charge-{{ data.order }}'}}}";
        JsonNode published = lab.post("/api/v1/sequences", "{'name':'nine','destinations':[" + profile + "],'blocks':[" + step + "]}").json();
        JsonNode shown = lab.get("/api/v1/sequences/" + published.path("id").asString()).json();
        assertThat(shown.path("guarantees").get(0).path("guarantee").asString()).isEqualTo("once by key");
        assertThat(shown.path("guarantees").get(0).path("means").asString()).isNotBlank();
        String run = lab.start("nine", "{'order':'A 1'}");
        lab.await(run, "waiting");
        JsonNode file = lab.get("/api/v1/effects/" + lab.effectOf(run).path("effect_id").asString()).json();
        assertThat(file.path("search_url").asString()).isEqualTo("https://dashboard.pay.example/search?q=charge-A%201");
        assertThat(file.path("destination_profile").asString()).isEqualTo("nine");
        assertThat(file.path("guarantee").asString()).isEqualTo("once by key");

        lab.post("/api/v1/destinations/hold", "{'destination':'ten','reason':'r'}").refused(404, "DESTINATION_NOT_FOUND");
        assertThat(lab.post("/api/v1/destinations/hold", "{'destination':'nine','reason':'status page'}", "x-actor", "alice").json().path("held").asBoolean()).isTrue();
        String queued = lab.start("nine", "{'order':'A 2'}");
        assertThat(lab.await(queued, "waiting").path("reasons").get(0).path("reason").asString()).isEqualTo("destination_held");
        JsonNode row = lab.get("/api/v1/destinations").json().path("items").valueStream().filter(it -> it.path("name").asString().equals("nine")).findFirst().orElseThrow();
        assertThat(row.path("reason").asString()).isEqualTo("status page");
        assertThat(lab.get("/metrics").text()).contains("waybill_destinations_held{destination=\"" + lab.provider.url("/v9") + "\"} 1");
        assertThat(lab.post("/api/v1/destinations/release", "{'destination':'nine','reason':'over'}").json().path("held").asBoolean()).isFalse();
        lab.await(queued, "completed");
    }

    @Test
    void aResolveByPrefixReachesTheSameEffect() {
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.dropBeforeApply()));
        lab.sequence("prefix", charge(""));
        String run = lab.start("prefix", "{'order':'P-1'}");
        lab.await(run, "waiting");
        String id = lab.effectOf(run).path("effect_id").asString();
        JsonNode file = lab.post("/api/v1/effects/" + id.substring(0, 8) + "/resolve", "{'state':'abandoned','evidence':'nothing there','then':'fail'}").json();
        assertThat(file.path("effect_id").asString()).isEqualTo(id);
        JsonNode failed = lab.await(run, "failed");
        assertThat(failed.path("error").isNull()).isFalse();
        lab.get("/api/v1/effects/ffff").refused(404, "EFFECT_NOT_FOUND");
        lab.get("/api/v1/effects/xyz").refused(404, "EFFECT_NOT_FOUND");
    }

    @Test
    void aLostOutputIsSuppliedOnce() {
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.truncatedBody(100, 10)));
        lab.sequence("cut", charge(""));
        String run = lab.start("cut", "{'order':'O-1'}");
        JsonNode waiting = lab.await(run, "waiting");
        assertThat(waiting.path("reasons").get(0).path("reason").asString()).isEqualTo("output_lost");
        JsonNode effect = lab.effectOf(run);
        assertThat(effect.path("next").get(0).asString()).startsWith("waybill effects output ");
        String path = "/api/v1/effects/" + effect.path("effect_id").asString() + "/output";
        lab.post(path, "{'output':{'id':'ch_9'}}").refused(422, "EVIDENCE_REQUIRED");
        lab.post(path, "{'evidence':'x'}").refused(400, "MISSING_FIELD");
        String older = path.replace("/effects/", "/continuity/effects/");
        assertThat(lab.post(older, "{'output':{'id':'ch_9'},'evidence':'the provider shows it'}").status()).isEqualTo(200);
        lab.await(run, "completed");
        assertThat(lab.get(INSTANCES + run + "/outputs").json().path("charge").path("id").asString()).isEqualTo("ch_9");
        lab.post(path, "{'output':{},'evidence':'again'}").refused(409, "OUTPUT_NOT_LOST");
    }

    @Test
    void aRunIsPausedResumedAndCancelledAndTheAuditKnowsWhoDidIt() {
        lab.sequence("slow", "{'type':'step','id':'nap','handler':'sleep','params':{'duration':3600000}}");
        String run = lab.start("slow", "{}");
        lab.post(INSTANCES + run + "/signals", "{'signal_type':'pause'}", "x-actor", "bob");
        lab.await(run, "paused");
        lab.post(INSTANCES + run + "/signals", "{'signal_type':'resume'}");
        lab.post(INSTANCES + run + "/signals", "{'signal_type':'cancel'}");
        lab.await(run, "cancelled");
        lab.post(INSTANCES + run + "/signals", "{'signal_type':'pause'}").refused(409, "RUN_ENDED");
        lab.post(INSTANCES + run + "/signals", "{'signal_type':'update_context'}").refused(400, "SIGNAL_UNSUPPORTED");
        lab.post(INSTANCES + run + "/signals", "{'signal_type':{'custom':'x'}}").refused(400, "SIGNAL_UNSUPPORTED");
        String audit = lab.get(INSTANCES + run + "/audit").text();
        assertThat(audit).contains("run.pause").contains("operator:bob").contains("run.cancel").contains("operator:local");
    }

    @Test
    void aFailedRunIsRetriedFromItsFailedStep() {
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.answer(402)));
        lab.sequence("declined", charge(""));
        String run = lab.start("declined", "{'order':'R-1'}");
        lab.await(run, "failed");
        assertThat(lab.post(INSTANCES + run + "/retry", "{}", "Idempotency-Key", "r1").status()).isEqualTo(200);
        lab.await(run, "completed");
        assertThat(lab.post(INSTANCES + run + "/retry", "{}", "Idempotency-Key", "r1").json().path("state").asString()).isEqualTo("completed");
        assertThat(lab.get("/api/v1/effects?instance_id=" + run).json().path("items")).hasSize(2);
        lab.post(INSTANCES + run + "/retry", "{}").refused(409, "RUN_NOT_FAILED");
    }

    @Test
    void aRunThatFailedOverAnUnknownEffectIsNotRetriedBeforeItIsResolved() {
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
        lab.sequence("blocked", charge(",'on_unknown':'fail'"));
        String run = lab.start("blocked", "{'order':'F-1'}");
        JsonNode failed = lab.await(run, "failed");
        assertThat(failed.path("error").path("code").asString()).isEqualTo("EFFECT_BLOCKED");
        Http.Answer refused = lab.post(INSTANCES + run + "/retry", "{}").refused(409, "EFFECT_UNRESOLVED");
        assertThat(refused.json().path("next").asString()).startsWith("waybill effects show ");
        assertThat(lab.provider.applied()).isEqualTo(1);
    }

    @Test
    void aCancelledRunIsUndoneOnceWhatWasUnknownIsKnown() {
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
        lab.sequence("saga", "{'type':'saga','id':'saga','steps':[{'id':'charge','action':" + charge("") + ",'compensation':"
                + charge("").replace("'id':'charge'", "'id':'refund'").replace("/charges", "/refunds") + "}]}");
        String run = lab.start("saga", "{'order':'S-1'}");
        lab.post(INSTANCES + run + "/compensate", "{}").refused(409, "RUN_NOT_STOPPED");
        lab.await(run, "waiting");
        lab.post(INSTANCES + run + "/signals", "{'signal_type':'cancel'}");
        String charge = lab.await(run, "cancelled").path("residuals").path(0).path("effect_id").asString();
        lab.post(INSTANCES + run + "/compensate", "{}").refused(409, "NOTHING_TO_COMPENSATE");
        lab.post("/api/v1/continuity/effects/" + charge + "/resolve", "{'state':'committed','evidence':'in their ledger','provider_receipt_id':'ch_1'}");
        assertThat(lab.post(INSTANCES + run + "/compensate", "{}", "Idempotency-Key", "c1").status()).isEqualTo(200);
        JsonNode ended = lab.await(run, "cancelled");
        assertThat(ended.path("residuals")).isEmpty();
        assertThat(lab.post(INSTANCES + run + "/compensate", "{}", "Idempotency-Key", "c1").json().path("state").asString()).isEqualTo("cancelled");
        assertThat(lab.provider.applied(d -> d.path().equals("/refunds"))).isEqualTo(1);
        assertThat(lab.provider.deliveries().getLast().header("Idempotency-Key")).isEqualTo("compensate:" + charge);
        lab.post(INSTANCES + run + "/retry", "{}").refused(409, "RUN_NOT_FAILED");
    }

    @Test
    void aRunCanBeToldToStartLater() {
        lab.sequence("later", "{'type':'step','id':'a','handler':'noop','params':{}}");
        Http.Answer later = lab.post("/api/v1/instances", "{'sequence_name':'later','next_fire_at':'2126-01-01T00:00:00Z','priority':'high'}");
        JsonNode run = lab.get(INSTANCES + later.json().path("id").asString()).json();
        assertThat(run.path("state").asString()).isEqualTo("scheduled");
        assertThat(Instant.parse(run.path("next_fire_at").asString()))
                .isBetween(Instant.parse("2125-12-31T23:00:00Z"), Instant.parse("2126-01-01T01:00:00Z"));
        assertThat(run.path("priority").asString()).isEqualTo("high");
    }

    @Test
    void changesAreReadByCursorAndAsAStreamThatGoesOnWhereItStopped() throws IOException {
        lab.sequence("news", "{'type':'step','id':'a','handler':'noop','params':{}}");
        JsonNode before = lab.get("/api/v1/changes?limit=500").json();
        String cursor = before.path("next_cursor").isNull() ? "" : before.path("next_cursor").asString();
        String last;
        try (Stream stream = new Stream(lab.server.port(), "Last-Event-ID: " + cursor + "\r\n")) {
            String run = lab.start("news", "{}");
            lab.await(run, "completed");
            Event event = stream.next(run);
            assertThat(event.data().path("event_type").asString()).isEqualTo("instance.completed");
            last = event.id();
        }
        String second = lab.start("news", "{}");
        lab.await(second, "completed");
        try (Stream stream = new Stream(lab.server.port(), "Last-Event-ID: " + last + "\r\n")) {
            assertThat(stream.next().data().path("instance_id").asString()).isEqualTo(second);
        }
        JsonNode page = lab.get("/api/v1/changes?cursor=" + java.net.URLEncoder.encode(last, StandardCharsets.UTF_8)).json();
        assertThat(page.path("items").get(0).path("instance_id").asString()).isEqualTo(second);
        lab.get("/api/v1/changes?cursor=nonsense!").refused(400, "INVALID_PARAMETER");
    }

    /** One event of a stream. */
    private record Event(String id, JsonNode data) {}

    /** A raw stream, so that the test sees what a browser would. */
    private static final class Stream implements AutoCloseable {
        private final Socket socket;
        private final BufferedReader reader;

        Stream(int port, String header) throws IOException {
            socket = new Socket("127.0.0.1", port);
            socket.setSoTimeout(30_000);
            socket.getOutputStream()
                    .write(("GET /api/v1/changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n" + header + "\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            reader = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            assertThat(reader.readLine()).isEqualTo("HTTP/1.1 200 OK");
            // The comment that opens the stream: from here on nothing is missed.
            while (!reader.readLine().equals(": waybill")) {}
        }

        Event next() throws IOException {
            String id = null;
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (line.startsWith("id: ")) {
                    id = line.substring(4);
                } else if (line.startsWith("data: ")) {
                    return new Event(id, Json.parse(line.substring(6)));
                }
            }
            throw new AssertionError("the stream ended");
        }

        Event next(String run) throws IOException {
            Event event = next();
            while (!event.data().path("instance_id").asString().equals(run)) {
                event = next();
            }
            return event;
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    @Test
    void aWebhookIsAddedTestedRotatedReplayedAndRemovedAndItsSecretIsShownOnce() {
        Http.Answer added = lab.post("/api/v1/webhooks", "{'url':'$P/hooks','events':['effect.unknown']}");
        String secret = added.json().path("secret").asString();
        assertThat(secret).startsWith("whsec_");
        String path = "/api/v1/webhooks/" + added.json().path("id").asString();
        assertThat(lab.get(path).text()).doesNotContain(secret).contains("effect.unknown");
        assertThat(lab.get("/api/v1/webhooks").text()).doesNotContain(secret).contains(path.substring(path.lastIndexOf('/') + 1));
        assertThat(lab.post(path + "/test", "").json().has("delivered")).isTrue();
        assertThat(lab.post(path + "/rotate", "").json().path("secret").asString()).startsWith("whsec_").isNotEqualTo(secret);
        assertThat(lab.post(path + "/replay", "{'from':'skip'}").json().path("state").asString()).isEqualTo("active");
        assertThat(lab.get(path, "X-Tenant-Id", "globex").status()).isEqualTo(404);
        assertThat(lab.post(path + "/remove", "").status()).isEqualTo(200);
        assertThat(lab.get(path).status()).isEqualTo(404);
    }

    @Test
    void anUnknownEffectReachesAWebhookOfItsTenantByItself() {
        lab.provider.script(
                Rule.on("POST", "/hooks").then(Behaviour.answer(200)), Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
        String path = "/api/v1/webhooks/" + lab.post("/api/v1/webhooks", "{'url':'$P/hooks'}").json().path("id").asString();
        lab.sequence("told", charge(",'on_unknown':'wait'"));
        lab.await(lab.start("told", "{'order':'H-1'}"), "waiting");
        org.awaitility.Awaitility.await().until(() -> !lab.get(path).json().path("last_success_at").isNull());
        assertThat(lab.get(path).json().path("state").asString()).isEqualTo("active");
        lab.post(path + "/remove", "");
    }

    @Test
    void aWebhookThatCannotBeIsRefusedWithItsPlaceAndLeavesNoRow() {
        String[][] bad = {
            {"{'url':'http://169.254.169.254/latest'}", "/url"},
            {"{'url':'ftp://hooks.example/'}", "/url"},
            {"{'url':'$P/h','secret':'hunter2'}", "/secret"},
            {"{'url':'$P/h','events':['no dots']}", "/events/0"},
            {"{'url':'$P/h','events':[]}", "/events"},
            {"{'url':7}", "/url"},
        };
        for (String[] one : bad) {
            Http.Answer answer = lab.post("/api/v1/webhooks", one[0]);
            assertThat(answer.status()).as(one[0]).isEqualTo(400);
            assertThat(answer.json().path("pointer").asString("")).as(one[0]).isEqualTo(one[1]);
        }
        assertThat(lab.get("/api/v1/webhooks").json().path("items")).isEmpty();
    }
}

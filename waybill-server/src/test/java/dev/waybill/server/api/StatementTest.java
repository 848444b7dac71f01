package dev.waybill.server.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.waybill.json.Json;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** A provider's statement against the receipts of its destination. */
class StatementTest {
    private static final String IMPORT = "/api/v1/effects/statement";

    @TempDir
    static Path directory;

    private static ServerLab lab;
    private static int sequences;
    private String dest;

    @BeforeAll
    static void start() {
        lab = new ServerLab(directory, Map.of());
    }

    @AfterAll
    static void stop() {
        lab.close();
    }

    /** Every test has a destination of its own. */
    @BeforeEach
    void reset() {
        lab.provider.reset();
        sequences++;
        dest = lab.provider.url("/charges" + sequences);
        lab.sequence("pay" + sequences, "{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'" + dest
                + "','body':{'amount':'= data.amount','currency':'EUR'}},'timeout':500,'effect':{'settle':'1s','labels':{'order':'= data.order'}}}");
    }

    private void answers(Behaviour behaviour) {
        lab.provider.reset();
        lab.provider.script(Rule.on("POST", "/charges" + sequences).thenAlways(behaviour));
    }

    private String pay(String order, String amount, String state) {
        String run = lab.start("pay" + sequences, "{'order':'" + order + "','amount':" + amount + "}");
        lab.await(run, state);
        return run;
    }

    private static String state(String run) {
        return lab.effectOf(run).path("state").asString();
    }

    private ObjectNode body(String csv) {
        return Json.NODES.objectNode().put("destination", dest).put("match", "label:order").put("text", csv);
    }

    private static JsonNode imported(ObjectNode body) {
        Http.Answer answer = lab.post(IMPORT, Json.write(body));
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return answer.json();
    }

    private static JsonNode row(JsonNode report, String orderOrReference) {
        return StreamSupport.stream(report.path("items").spliterator(), false)
                .filter(item -> item.path("line").path("reference").asString("").equals(orderOrReference)
                        || item.path("effect").path("labels").path("order").asString("").equals(orderOrReference))
                .findFirst()
                .orElseThrow(() -> new AssertionError(Json.write(report)));
    }

    @Test
    void aDryRunSaysWhatItWouldDoAndWritesNothingAndApplyDecidesOnlyWhatIsCertain() {
        answers(Behaviour.applyThenDrop());
        String matched = pay("S-1", "12.50", "waiting");
        String differs = pay("S-2", "7", "waiting");
        String twice = pay("S-3", "8", "waiting");
        String absent = pay("S-4", "9", "waiting");
        String twinA = pay("S-5", "5", "waiting");
        String twinB = pay("S-5", "5", "waiting");
        String csv = "reference;transaction;amount;currency\r\nS-1;tr-1;12.5;eur\r\nS-2;tr-2;7.01;EUR\r\nS-3;tr-3;8;EUR\r\nS-3;tr-4;8;EUR\r\n"
                + "S-5;tr-5;5;EUR\r\n\"X;1\";tr-6;99;EUR\r\n";

        JsonNode dry = imported(body(csv));
        assertThat(dry.path("applied").asBoolean()).isFalse();
        assertThat(Json.write(dry.path("counts"))).isEqualTo(
                "{\"lines\":6,\"matched\":1,\"orphan\":1,\"missing\":1,\"amount_differs\":1,\"ambiguous\":3,\"contradiction\":0,\"to_do\":1,\"done\":0}");
        assertThat(row(dry, "X;1").path("verdict").asString()).isEqualTo("orphan");
        assertThat(row(dry, "S-2").path("effect").path("amount").asString()).isEqualTo("7");
        assertThat(state(matched)).isEqualTo("unknown");

        JsonNode applied = imported(body(csv).put("apply", true));
        assertThat(row(applied, "S-1").path("done").asBoolean()).isTrue();
        JsonNode receipt = lab.get("/api/v1/effects/" + lab.effectOf(matched).path("effect_id").asString()).json();
        assertThat(receipt.path("state").asString()).isEqualTo("committed");
        assertThat(receipt.path("provider_receipt_id").asString()).isEqualTo("tr-1");
        assertThat(receipt.path("evidence").get(0).path("body").path("note").asString()).contains("line 2: S-1;tr-1;12.5;eur");
        lab.await(matched, "completed");
        for (String untouched : new String[] {differs, twice, absent, twinA, twinB}) {
            assertThat(state(untouched)).isEqualTo("unknown");
        }

        JsonNode again = imported(body(csv).put("apply", true));
        assertThat(row(again, "S-1").path("action").asString()).isEqualTo("none");
        assertThat(again.path("counts").path("done").asInt()).isZero();
        assertThat(lab.get("/api/v1/effects/" + receipt.path("effect_id").asString()).json().path("journal")).isEqualTo(receipt.path("journal"));
    }

    @Test
    void whatIsOnTheStatementAlthoughTheReceiptSaysNoIsEvidenceAndAnEventAndMovesNothing() {
        answers(Behaviour.applyThenDrop());
        String run = pay("C-1", "3", "waiting");
        String id = lab.effectOf(run).path("effect_id").asString();
        lab.post("/api/v1/effects/" + id + "/resolve", "{'state':'abandoned','evidence':'nobody found it','then':'none'}");
        ObjectNode lines = body("").put("apply", true);
        lines.remove("text");
        lines.putArray("lines").addObject().put("ref", "C-1").put("transaction", "tr-9").put("amount", 3).put("at", Instant.now().toString());
        lines.putObject("map").put("reference", "ref");

        JsonNode report = imported(lines);
        assertThat(row(report, "C-1").path("verdict").asString()).isEqualTo("contradiction");
        assertThat(row(report, "C-1").path("done").asBoolean()).isTrue();
        imported(lines);
        JsonNode file = lab.get("/api/v1/effects/" + id).json();
        assertThat(file.path("state").asString()).isEqualTo("abandoned");
        assertThat(file.path("evidence").findValuesAsString("kind")).containsExactly("resolution", "statement");
        assertThat(lab.get("/api/v1/changes?limit=500").text()).contains("effect.contradiction");
    }

    @Test
    void aMissingEffectIsWrittenOffOnlyWhenTheStatementCoversItAndItIsQuietAndNoOrphanCouldBeIt() {
        answers(Behaviour.dropBeforeApply());
        String run = pay("M-1", "4.20", "waiting");
        String path = "/api/v1/effects/" + lab.effectOf(run).path("effect_id").asString();
        String header = "reference,transaction,amount\n";
        Instant begin = Instant.now().minusSeconds(3600);
        lab.post(IMPORT, Json.write(body(header).put("missing", "fail"))).refused(422, "STATEMENT_INVALID");
        await().atMost(Duration.ofSeconds(60)).until(() -> lab.get(path).json().path("quiet").asBoolean());
        Instant end = Instant.now().plusSeconds(1);

        ObjectNode short_ = body(header).put("apply", true).put("missing", "fail");
        short_.putObject("covers").put("from", begin.toString()).put("to", begin.plusSeconds(60).toString());
        assertThat(row(imported(short_), "M-1").path("why").asString()).contains("does not cover");
        ObjectNode orphaned = body(header + "somebody,tr-1,4.2\n").put("apply", true).put("missing", "fail");
        orphaned.putObject("covers").put("from", begin.toString()).put("to", end.toString());
        assertThat(row(imported(orphaned), "M-1").path("why").asString()).contains("line 2 could be it");
        assertThat(state(run)).isEqualTo("unknown");

        ObjectNode covering = body(header + "somebody,tr-1,4.21\n").put("apply", true).put("missing", "fail");
        covering.putObject("covers").put("from", begin.toString()).put("to", end.toString());
        assertThat(row(imported(covering), "M-1").path("done").asBoolean()).isTrue();
        assertThat(state(run)).isEqualTo("abandoned");
        lab.await(run, "failed");
        assertThat(lab.provider.applied()).isZero();
    }

    @Test
    void aStatementThatCannotBeReadIsRefusedAsAWholeWithTheLine() {
        answers(Behaviour.applyThenDrop());
        String run = pay("R-1", "1", "waiting");
        String good = "reference,transaction,amount\nR-1,tr-1,1\n";
        refused(body(good + "R-2,tr-2,\"1,250.00\"\n"), "/text", "line 3: amount");
        refused(body(good + "R-2,tr-2\n"), "/text", "line 3 has 2 fields");
        refused(body(good + "R-2,\"tr-2,1\n"), "/text", "line 3: a quote is not closed");
        refused(body(""), "/text", "empty");
        refused(body(good).put("match", "label:"), "/match", "match");
        ObjectNode mapped = body(good);
        mapped.putObject("map").put("amount", "betrag");
        refused(mapped, "/map/amount", "no line has the column betrag");
        lab.post(IMPORT, Json.write(body(good).put("appli", true))).refused(400, "UNKNOWN_FIELD");
        ObjectNode both = body(good);
        both.putArray("lines");
        lab.post(IMPORT, Json.write(both)).refused(400, "MISSING_FIELD");
        assertThat(state(run)).isEqualTo("unknown");
        assertThat(lab.effectOf(run).path("reason").asString()).isNotEqualTo("resolved");
    }

    private static void refused(ObjectNode body, String pointer, String why) {
        Http.Answer answer = lab.post(IMPORT, Json.write(body.put("apply", true))).refused(422, "STATEMENT_INVALID");
        assertThat(answer.json().path("pointer").asString()).isEqualTo(pointer);
        assertThat(answer.json().path("error").asString()).contains(why);
    }

    @Test
    void aLineFromBeforeTheRequestWasSentIsNotAboutIt() {
        answers(Behaviour.applyThenDrop());
        String run = pay("L-1", "2", "waiting");
        String csv = "reference,transaction,amount,at\nL-1,tr-1,2,%s\n";
        JsonNode old = imported(body(csv.formatted(Instant.now().minus(Duration.ofDays(2)))).put("apply", true));
        assertThat(row(old, "L-1").path("verdict").asString()).isEqualTo("ambiguous");
        assertThat(state(run)).isEqualTo("unknown");
        assertThat(row(imported(body(csv.formatted(Instant.now())).put("apply", true)), "L-1").path("done").asBoolean()).isTrue();
    }

    @Test
    void anAmountWithMoreDigitsThanABinaryFractionHoldsIsComparedExactly() {
        answers(Behaviour.applyThenDrop());
        String run = pay("B-1", "9007199254740993.01", "waiting");
        String jsonLines = "{\"reference\":\"B-1\",\"transaction\":\"tr-1\",\"amount\":%s}\n";
        assertThat(row(imported(body(jsonLines.formatted("9007199254740993.02"))), "B-1").path("verdict").asString()).isEqualTo("amount_differs");
        assertThat(row(imported(body(jsonLines.formatted("9007199254740993.010")).put("apply", true)), "B-1").path("done").asBoolean()).isTrue();
        assertThat(state(run)).isEqualTo("committed");
    }
}

package dev.waybill.server.cli;

import static dev.waybill.server.api.ServerLab.charge;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.server.api.ServerLab;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** The commands against a real server; in this process, for the real one see {@link ProcessTest}. */
class CliTest {
    @TempDir
    static Path directory;

    private static ServerLab lab;

    private record Ran(int exit, String out, String err) {}

    @BeforeAll
    static void start() {
        lab = new ServerLab(directory, Map.of());
    }

    @AfterAll
    static void stop() {
        lab.close();
    }

    @BeforeEach
    void reset() {
        lab.provider.reset();
    }

    private static Ran waybill(String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--server", "http://127.0.0.1:" + lab.server.port()));
        return bare(all.toArray(String[]::new));
    }

    private static Ran bare(String... arguments) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        Terminal terminal = Terminal.of(new PrintStream(out, true), new PrintStream(err, true), false, Map.of());
        int exit = Cli.run(arguments, Map.of(), terminal, InstantSource.system(), UUID::randomUUID);
        return new Ran(exit, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    private static String file(String name, String text) throws IOException {
        return Files.writeString(directory.resolve(name), text).toString();
    }

    @Test
    void aDestinationIsListedHeldAndReleased() throws IOException {
        String sequence = file("held.yaml", "name: cli-held\ndestinations:\n  - {name: nine, match: {handler: http_request}, hold: {}}\nblocks:\n"
                + "  - {type: step, id: a, handler: noop}\n");
        assertThat(waybill("sequence", "apply", sequence).exit()).isZero();
        assertThat(waybill("destinations", "list").out()).contains("nine").contains("open");
        assertThat(waybill("destinations", "hold", "nine").exit()).isNotZero();
        assertThat(waybill("destinations", "hold", "nine", "--reason", "status page").out()).contains("nine is held");
        assertThat(waybill("destinations", "list").out()).contains("held").contains("status page");
        assertThat(waybill("destinations", "release", "nine", "--reason", "over").out()).contains("nine is open");
    }

    @Test
    void aSequenceIsValidatedAppliedListedAndShown() throws IOException {
        String good = file("good.yaml", "name: cli-good\nblocks:\n  - {type: step, id: a, handler: noop, params: {}}\n");
        String bad = file("bad.json", "{\"name\":\"cli-bad\",\"blocks\":[{\"type\":\"step\",\"id\":\"a\"}]}");

        assertThat(waybill("sequence", "validate", good)).extracting(Ran::exit, Ran::out).containsExactly(0, "a   pure: touches nothing outside; no receipt, may run again\n" + good + " is valid\n");
        Ran faulty = waybill("sequence", "validate", bad);
        assertThat(faulty.exit()).isEqualTo(1);
        assertThat(faulty.out()).contains("fault  ").contains("/blocks/0");
        assertThat(waybill("sequence", "apply", bad)).satisfies(ran -> {
            assertThat(ran.exit()).isEqualTo(1);
            assertThat(ran.err()).contains("error: INVALID_SEQUENCE");
        });
        assertThat(waybill("sequence", "apply", good).out()).startsWith("cli-good version 1 published");
        assertThat(waybill("sequence", "list").out()).contains("NAME").contains("cli-good");
        assertThat(Json.parse(waybill("sequence", "show", "cli-good").out()).path("version").asInt()).isEqualTo(1);
        assertThat(waybill("sequence", "show", "cli-nobody").exit()).isEqualTo(3);
        assertThat(waybill("sequence", "apply", directory.resolve("absent.yaml").toString()).exit()).isEqualTo(2);
    }

    @Test
    void aRunThatCompletesExitsWithZeroAndShowsItsBlocks() {
        lab.sequence("cli-pay", charge(""));
        Ran ran = waybill("run", "start", "cli-pay", "-i", "{\"order\":\"C-1\"}", "--key", "cli-1", "--wait", "--metadata", "order=C-1");
        assertThat(ran.exit()).as(ran.err()).isZero();
        assertThat(ran.out()).contains("completed").contains("charge").contains("cli-pay v1");
        assertThat(waybill("run", "start", "cli-pay", "-i", "{\"order\":\"C-1\"}", "--key", "cli-1", "--metadata", "order=C-1").out())
                .contains("was started before with this key");
        Ran reused = waybill("run", "start", "cli-pay", "-i", "{\"order\":\"C-2\"}", "--key", "cli-1");
        assertThat(reused.exit()).isEqualTo(1);
        assertThat(reused.err()).contains("IDEMPOTENCY_KEY_REUSED").contains("next:  waybill run show ");
        JsonNode page = Json.parse(waybill("run", "list", "--metadata", "order=C-1", "-o", "json").out());
        assertThat(page.path("items")).hasSize(1);
        assertThat(waybill("run", "list", "--state", "completed").out()).contains("STATE").contains("completed");
        assertThat(lab.provider.applied()).isEqualTo(1);
    }

    @Test
    void whatIsNotThereIsExitThreeAndTheNextCommandShowsWhatIs() {
        for (String id : List.of("nope", "0190b6f0-0000-7000-8000-000000000000")) {
            Ran ran = waybill("run", "show", id);
            assertThat(ran.exit()).isEqualTo(3);
            assertThat(ran.err()).contains("RUN_NOT_FOUND").contains("next:  waybill run list");
        }
    }

    @Test
    void anUnknownEffectIsExitFiveAndTheRoadBackIsThreeCommands() {
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
        lab.sequence("cli-lost", charge(""));
        Ran started = waybill("run", "start", "cli-lost", "-i", "{\"order\":\"C-9\"}", "--wait");
        assertThat(started.exit()).isEqualTo(5);
        assertThat(started.out()).contains("waiting").contains("effect_unknown").contains("next:  waybill effects show ");
        String run = started.out().lines().findFirst().orElseThrow().split(" ")[1];
        assertThat(waybill("run", "show", run).exit()).isEqualTo(5);

        Ran list = waybill("effects", "list", "--state", "unknown", "-q", "C-9");
        assertThat(list.out()).contains("order=C-9").contains("charge");
        String prefix = list.out().lines().skip(1).findFirst().orElseThrow().split(" ")[0];
        assertThat(prefix).hasSize(8);

        Ran shown = waybill("effects", "show", prefix);
        assertThat(shown.exit()).isZero();
        assertThat(shown.out()).contains("journal").contains("dispatched -> unknown").contains("next:  waybill effects resolve ");

        assertThat(waybill("effects", "resolve", prefix, "--committed", "--note", "seen").err()).contains("EVIDENCE_REQUIRED");
        assertThat(waybill("effects", "resolve", prefix, "--abandoned", "--resend", "--note", "seen").exit()).isEqualTo(4);
        Ran resolved = waybill("effects", "resolve", prefix, "--committed", "--provider-id", "ch_1", "--note", "seen in the ledger");
        assertThat(resolved.exit()).as(resolved.err()).isZero();
        assertThat(resolved.out()).contains("committed").contains("run " + run);
        lab.await(run, "completed");
        String id = lab.effectOf(run).path("effect_id").asString();
        assertThat(waybill("effects", "resolve", id, "--abandoned", "--note", "again")).satisfies(ran -> {
            assertThat(ran.exit()).isEqualTo(4);
            assertThat(ran.err()).contains("EFFECT_NOT_UNKNOWN").contains("next:  waybill effects show " + id);
        });
        assertThat(waybill("effects", "show", "ffff").exit()).isEqualTo(3);
    }

    @Test
    void theProviderIsAskedByCommandAndTheRunGoesOn() {
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()), Rule.on("GET", "/charges").then(Behaviour.answer(500)));
        lab.sequence("cli-verify", charge(",'on_unknown':['verify','wait']").replace("'effect':{", "'effect':{'verify':{'every':'1h','params':{'url':'"
                + lab.provider.url("/charges?order={{ data.order }}") + "'},'landed':'= body.count > 0','absent':'= body.count = 0'},"));
        String run = lab.start("cli-verify", "{'order':'V-9'}"); // --wait would wait for the verifier: the run goes on by itself
        lab.await(run, "waiting");
        String id = lab.effectOf(run).path("effect_id").asString();
        assertThat(waybill("effects", "show", id).out()).contains("the provider is asked at ").contains("next:  waybill effects verify " + id);
        Ran asked = waybill("effects", "verify", id.substring(0, 8));
        assertThat(asked.exit()).as(asked.err()).isZero();
        assertThat(asked.out()).contains("the provider says: landed").contains("verified");
        lab.await(run, "completed");
        assertThat(waybill("effects", "verify", id).err()).contains("EFFECT_NOT_UNKNOWN");
    }

    @Test
    void aLostOutputIsSuppliedByItsFinder() {
        lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.truncatedBody(100, 10)));
        lab.sequence("cli-cut", charge(""));
        Ran started = waybill("run", "start", "cli-cut", "-i", "{\"order\":\"C-5\"}", "--wait");
        assertThat(started.exit()).isEqualTo(1);
        assertThat(started.out()).contains("output_lost");
        String prefix = waybill("effects", "list", "--state", "open", "-q", "C-5").out().lines().skip(1).findFirst().orElseThrow().split(" ")[0];
        Ran supplied = waybill("effects", "output", prefix, "--output", "{\"id\":\"ch_5\"}", "--note", "the provider shows it");
        assertThat(supplied.exit()).as(supplied.err()).isZero();
        lab.await(started.out().lines().findFirst().orElseThrow().split(" ")[1], "completed");
    }

    @Test
    void aRunIsSteered() {
        lab.sequence("cli-slow", "{'type':'step','id':'nap','handler':'sleep','params':{'duration':'1h'}}");
        String run = Json.parse(waybill("run", "start", "cli-slow", "-o", "json").out()).path("id").asString();
        assertThat(waybill("run", "pause", run).exit()).isZero();
        assertThat(waybill("run", "resume", run).exit()).isZero();
        assertThat(waybill("run", "cancel", run).exit()).isZero();
        lab.await(run, "cancelled");
        assertThat(waybill("run", "cancel", run).exit()).isEqualTo(4);
        assertThat(waybill("run", "retry", run).exit()).isEqualTo(4);
        assertThat(waybill("run", "show", UUID.randomUUID().toString()).exit()).isEqualTo(3);
        assertThat(waybill("run", "show", run, "-o", "json").out()).contains("\"cancelled\"");
    }

    @Test
    void whatIsTypedWrongIsExitTwoWithTheNearestCommand() {
        assertThat(bare("efects").err()).contains("Did you mean").contains("effects");
        assertThat(bare("efects").exit()).isEqualTo(2);
        assertThat(bare().exit()).isEqualTo(2);
        assertThat(bare("run").exit()).isEqualTo(2);
        assertThat(waybill("run", "start", "x", "-i", "{not json").err()).contains("is not JSON");
        assertThat(waybill("run", "start", "x", "-i", "{not json").exit()).isEqualTo(2);
        assertThat(waybill("run", "list", "--state", "sleeping").exit()).isEqualTo(2);
        assertThat(bare("health", "--server", "ftp://x").exit()).isEqualTo(2);
        assertThat(waybill("effects", "resolve", "abcd", "--committed", "--abandoned", "--note", "x").exit()).isEqualTo(2);
        assertThat(waybill("effects", "resolve", "abcd", "--committed").exit()).isEqualTo(2);
    }

    @Test
    void aServerThatIsNotThereIsExitSeven() throws IOException {
        int free;
        try (ServerSocket socket = new ServerSocket(0)) {
            free = socket.getLocalPort();
        }
        Ran ran = bare("run", "list", "--server", "http://127.0.0.1:" + free);
        assertThat(ran.exit()).isEqualTo(7);
        assertThat(ran.err()).contains("error: no answer from").contains("next:  waybill serve");
    }

    @Test
    void aServerThatIsNotWaybillIsNamedAsSuch() {
        Ran ran = bare("run", "list", "--server", lab.provider.url("/nothing"));
        assertThat(ran.exit()).isEqualTo(3);
        assertThat(ran.err()).contains("not as a Waybill server does");
    }

    @Test
    void healthAndStore() {
        assertThat(waybill("health").out()).contains("ready");
        assertThat(waybill("health").exit()).isZero();
        assertThat(waybill("store", "accept").out()).isEqualTo("0 run(s) released\n");
    }

    @Test
    void whatAServerSaysCannotSteerTheTerminal() {
        assertThat(Terminal.clean("a\u001b[31mb\nc\u0007")).isEqualTo("a [31mb c ");
        assertThat(Terminal.age(0)).isEqualTo("0 s");
        assertThat(Terminal.age(119)).isEqualTo("119 s");
        assertThat(Terminal.age(120)).isEqualTo("2 min");
        assertThat(Terminal.age(7_200)).isEqualTo("2 h");
        assertThat(Terminal.age(200_000)).isEqualTo("2 d");
    }

    @Test
    void anUnknownEffectIsProvenByAFileExportedAndCheckedAndAStatementAgreesAfterwards() throws IOException {
        lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.applyThenDrop()));
        lab.sequence("cli-desk", charge(""));
        String run = lab.start("cli-desk", "{'order':'D-1'}");
        lab.await(run, "waiting");
        String id = lab.effectOf(run).path("effect_id").asString();
        String record = file("their-record.txt", "ch_77 succeeded");
        String saved = directory.resolve("saved").toString();

        assertThat(waybill("effects", "attach", id, "--note", "their support confirms").exit()).isZero();
        assertThat(waybill("effects", "attach", id).err()).contains("EVIDENCE_REQUIRED");
        assertThat(waybill("effects", "resolve", id, "--committed", "--note", "seen").exit()).isEqualTo(1);
        assertThat(waybill("effects", "resolve", id, "--committed", "--note", "seen", "--provider-id", "ch_77", "--evidence-file", record).exit()).isZero();
        assertThat(waybill("effects", "evidence", id).out()).contains("note", "resolution", "file");
        assertThat(waybill("effects", "evidence", id, "--get", "3", "--save", saved).exit()).isZero();
        assertThat(Path.of(saved)).hasContent("ch_77 succeeded");
        assertThat(waybill("effects", "proposals").exit()).isZero();
        assertThat(waybill("effects", "approve", id).exit()).isEqualTo(3);

        String exported = directory.resolve("case.json").toString();
        assertThat(waybill("effects", "export", id, "--save", exported).exit()).isZero();
        String key = file("key.txt", lab.get("/api/v1/signing-key").json().path("public_key").asString() + "\n");
        assertThat(bare("effects", "verify-export", exported, "--public-key", key).out()).contains("unchanged");
        String changed = file("changed.json", Files.readString(Path.of(exported)).replace("their support confirms", "nobody confirms"));
        assertThat(bare("effects", "verify-export", changed, "--public-key", key)).satisfies(ran -> {
            assertThat(ran.exit()).isEqualTo(1);
            assertThat(ran.err()).contains("was changed");
        });

        String statement = file("april.csv", "Charge\nch_77\n");
        Ran agrees = waybill("effects", "import-statement", statement, "--dest", lab.provider.url("/charges"), "--map", "id=Charge");
        assertThat(agrees.out()).contains("settled").contains("nothing was written");
        String orphan = file("may.csv", "Charge\nch_78\n");
        assertThat(waybill("effects", "import-statement", orphan, "--dest", lab.provider.url("/charges"), "--map", "id=Charge").exit()).isEqualTo(5);
    }
}

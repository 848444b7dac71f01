package dev.waybill.lab.crash;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.engine.CrashPoints.Point;
import dev.waybill.json.Json;
import dev.waybill.test.Processes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** A {@link LabEngine} child as its director sees it. */
final class EngineProcess implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final List<String> JVM =
            List.of("-Xmx192m", "-Dlogback.configurationFile=lab-logback.xml", "-XX:-UsePerfData");

    private final Processes.Child child;
    private final AtomicInteger requests = new AtomicInteger();

    private EngineProcess(Processes.Child child) {
        this.child = child;
    }

    /** Starts one and does not wait for it. */
    static EngineProcess launch(List<String> arguments) {
        return new EngineProcess(Processes.java(LabEngine.class, JVM, arguments));
    }

    EngineProcess ready() {
        child.awaitLine(line -> line.startsWith("READY "), PATIENCE);
        return this;
    }

    /** This process's incarnation in the list of nodes. */
    UUID node() {
        return UUID.fromString(child.awaitLine(line -> line.startsWith("READY "), PATIENCE).substring("READY ".length()));
    }

    /** {@code CODE message}: why it did not open. */
    String refusal() {
        String line = child.awaitLine(it -> it.startsWith("REFUSED "), PATIENCE);
        assertThat(child.waitFor(PATIENCE)).isEqualTo(3);
        return line.substring("REFUSED ".length());
    }

    void awaitAt(Point point, String path) {
        child.awaitLine(("AT " + point + " " + path)::equals, PATIENCE);
    }

    /** Waits for a line of the process's own. */
    void awaitLine(String line) {
        child.awaitLine(line::equals, PATIENCE);
    }

    // --- requests --------------------------------------------------------------------------------------------------------------

    /** A request on its way. */
    final class Asked {
        private final int id;

        private Asked(int id) {
            this.id = id;
        }

        /** Waits for the answer: {@code {ok}} or {@code {error: {code, message}}}. */
        JsonNode answer() {
            String start = "= {\"id\":" + id + ",";
            return Json.parseDefinition(child.awaitLine(line -> line.startsWith(start), PATIENCE).substring(2));
        }

        /** True when the answer has come. */
        boolean answered() {
            String start = "= {\"id\":" + id + ",";
            return child.lines().stream().anyMatch(line -> line.startsWith(start));
        }
    }

    Asked ask(String what, Consumer<ObjectNode> arguments) {
        int id = requests.incrementAndGet();
        ObjectNode request = Json.NODES.objectNode().put("id", id).put("do", what);
        arguments.accept(request);
        child.send(Json.write(request));
        return new Asked(id);
    }

    private JsonNode ok(String what, Consumer<ObjectNode> arguments) {
        JsonNode answer = ask(what, arguments).answer();
        assertThat(answer.has("error")).as("%s: %s\n%s", what, answer, String.join("\n", child.errors())).isFalse();
        return answer.path("ok");
    }

    EngineProcess publish(String name, String blocks) {
        ok("publish", it -> it.set("document", CrashLab.json("{'name':'" + name + "','blocks':" + blocks + "}")));
        return this;
    }

    UUID start(String name, String data) {
        return UUID.fromString(ok("start", it -> it.put("name", name).set("data", CrashLab.json(data))).asString());
    }

    /** {@code {ok: id}}, or an error when the engine cannot say whether it was started. */
    JsonNode askToStart(String name, String data, String key) {
        return ask("start", it -> it.put("name", name).put("key", key).set("data", CrashLab.json(data))).answer();
    }

    JsonNode run(UUID run) {
        return ok("run", it -> it.put("run", run.toString()));
    }

    /** Waits until the run has ended or needs somebody. */
    JsonNode await(UUID run) {
        return await(run, PATIENCE.dividedBy(2));
    }

    /** As {@link #await(UUID)}, at most that long. */
    JsonNode await(UUID run, Duration atMost) {
        return ok("await", it -> it.put("run", run.toString()).put("millis", atMost.toMillis()));
    }

    /** By path and attempt. */
    List<JsonNode> effects(UUID run) {
        return new ArrayList<>(ok("effects", it -> it.put("run", run.toString())).valueStream().toList());
    }

    /** {@code path#attempt state} of every receipt. */
    List<String> states(UUID run) {
        return effects(run).stream().map(EngineProcess::state).toList();
    }

    static String state(JsonNode effect) {
        return effect.path("path").asString() + "#" + effect.path("attempt").asInt() + " " + effect.path("state").asString();
    }

    Asked askToResolve(JsonNode effect, String providerId) {
        return ask("resolve", it -> it.put("effect", effect.path("id").asString())
                .put("state", "committed")
                .put("provider_receipt_id", providerId));
    }

    void resolveCommitted(JsonNode effect, String providerId) {
        JsonNode answer = askToResolve(effect, providerId).answer();
        assertThat(answer.has("error")).as("%s", answer).isFalse();
    }

    JsonNode cancel(UUID run) {
        return ok("cancel", it -> it.put("run", run.toString()));
    }

    int acceptLedger() {
        return ok("accept", it -> {}).asInt();
    }

    long unresolved() {
        return ok("unresolved", it -> {}).asLong();
    }

    /** @param rule {@code POINT[:path[:n]]} */
    EngineProcess stopAt(String rule) {
        ok("stop", it -> it.put("at", rule));
        return this;
    }

    /** Lets everybody who is held go on. */
    void open() {
        ok("open", it -> {});
    }

    // --- signals ---------------------------------------------------------------------------------------------------------------

    void kill() {
        child.kill();
    }

    void freeze() {
        child.freeze();
    }

    void thaw() {
        child.thaw();
    }

    /** SIGTERM; returns when the drain has begun. */
    void terminate() {
        child.terminate();
        child.awaitLine("DRAINING"::equals, PATIENCE);
    }

    int exit() {
        return child.waitFor(PATIENCE);
    }

    List<String> log() {
        return child.errors();
    }

    @Override
    public void close() {
        child.close();
    }
}

package dev.waybill.server.demo;

import dev.waybill.engine.CrashPoints;
import dev.waybill.json.Json;
import dev.waybill.server.demo.Order.Fate;
import dev.waybill.test.Processes.Child;
import dev.waybill.test.ProviderClient;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The five orders through Waybill: an engine process that is killed, its successor, a verifier, and a person where nothing can be asked. */
final class WaybillAct implements AutoCloseable {
    private static final int FIRST_PORT = 8080;
    private static final int WAIT_MILLIS = 20_000;

    /**
     * Acme Pay honours keys and shows by key what it has: its verifier is that question. Acme Bank does neither. The delay keeps the
     * intent of ship out of the commit that settles charge: a kill after that commit then hits a settled charge and nothing else.
     */
    private static final String SEQUENCE = """
            {"name": "NAME", "blocks": [
              {"type": "step", "id": "charge", "handler": "http_request", "timeout": "5s",
               "params": {"method": "POST", "url": "ACMEPATH",
                          "body": {"order": "{{ data.order }}", "amount": "{{ data.amount }}", "currency": "{{ data.currency }}", "card": "{{ data.card }}"}},
               "effect": {"name": "payment.charge", "receipt_id": "= body.id", "settle": "1s", MORE
                          "labels": {"order": "{{ data.order }}", "amount": "{{ data.amount }}", "currency": "{{ data.currency }}"}}},
              {"type": "step", "id": "ship", "handler": "http_request", "timeout": "5s", "delay": "50ms",
               "params": {"method": "POST", "url": "ACME/shipments",
                          "body": {"order": "{{ data.order }}", "charge": "{{ outputs.charge.body.id | outputs.charge.provider_receipt_id }}"}},
               "effect": {"name": "parcel.ship", "receipt_id": "= body.id", "settle": "1s",
                          "idempotency": {"key": "ship-{{ data.order }}", "window": "24h"}, "labels": {"order": "{{ data.order }}"}}}
            ]}
            """;

    /** No contract: a key without a window is what its statement calls the reference. */
    private static final String ACME_BANK = """
            "idempotency": {"key": "{{ data.order }}"},
            """;

    private static final String ACME_PAY = """
            "idempotency": {"key": "charge-{{ data.order }}", "window": "24h"},
            "verify": {"params": {"url": "ACME/charges?key={{ key | url_encode }}"},
                       "landed": "= body.count > 0", "absent": "= body.count = 0",
                       "output": "= {'body': body.items[0]}", "receipt_id": "= body.items[0].id",
                       "every": "500ms", "negative_reads": 2},
            """;

    private final Scene scene;
    private final Stage stage;
    private final Show show;
    private final CompletableFuture<ProviderClient> provider;
    private final List<Child> engines = new ArrayList<>();
    private final Map<Fate, String> runs = new EnumMap<>(Fate.class);
    private final List<String> differences = new ArrayList<>();
    private @Nullable Operator operator;
    private Stage.@Nullable Api api;
    private int port = FIRST_PORT;

    /** Starts its provider, which may take its time. */
    WaybillAct(Scene scene, Stage stage, Show show) {
        this.scene = scene;
        this.stage = stage;
        this.show = show;
        this.provider = scene.provider(Strategy.WAYBILL);
    }

    private ProviderClient acme() {
        return provider.join();
    }

    private Stage.Api api() {
        if (api == null) {
            throw new IllegalStateException("no engine was started yet");
        }
        return api;
    }

    private String server() {
        return "http://127.0.0.1:" + port;
    }

    // --- the orders ------------------------------------------------------------------------------------------------------------

    void placeOrders() {
        acme().script(Order.script(scene.orders(), scene.killAt()));
        Child engine = startEngine(scene.killAt().point());
        show.step("engine up (pid " + engine.pid() + ")   " + server() + "      Acme Pay on :" + acme().port() + " keeps its own ledger");
        publish("order", Order.CHARGES, ACME_PAY);
        publish("order-by-bank", Order.TRANSFERS, ACME_BANK);
        for (Order order : scene.orders()) {
            start(order);
            switch (order.fate()) {
                case KILLED -> {}
                case SWALLOWED -> {
                    awaitUnknown(order);
                    tell(order, view(order));
                }
                case NORMAL, ANSWER_LOST, DECLINED -> tell(order, settled(order));
            }
        }
    }

    private void publish(String name, String path, String more) {
        api().post(
                "/api/v1/sequences",
                Json.parse(SEQUENCE.replace("NAME", name).replace("PATH", path).replace("MORE", more).replace("ACME", acme().url(""))));
    }

    private JsonNode view(Order order) {
        return api().get("/api/v1/instances/" + run(order.fate()));
    }

    /** Its verifier works on; nobody waits for it here. */
    private void awaitUnknown(Order order) {
        long deadline = System.nanoTime() + Children.PATIENCE.toNanos();
        while (!text(receipts(order.fate()).getOrDefault("charge", Json.NODES.missingNode()), "state").equals("unknown")) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("the charge of " + order.name() + " does not become unknown");
            }
            java.util.concurrent.locks.LockSupport.parkNanos(20_000_000);
        }
    }

    private Child startEngine(CrashPoints.@Nullable Point stopAt) {
        List<String> arguments = new ArrayList<>(List.of(
                Integer.toString(port), "sqlite:" + scene.file("waybill.db"), "127.0.0.1:" + acme().port()));
        if (stopAt != null) {
            arguments.add(stopAt.name());
            arguments.add(Order.of(scene.orders(), Fate.KILLED).name());
        }
        Child engine = Children.start(DemoEngine.class, arguments);
        engines.add(engine);
        String listening = engine.awaitLine(line -> line.startsWith("listening "), Children.PATIENCE);
        port = Integer.parseInt(listening.substring("listening ".length()));
        api = stage.api(server());
        return engine;
    }

    private void start(Order order) {
        ObjectNode body = Json.NODES.objectNode().put("sequence_name", order.fate() == Fate.KILLED ? "order-by-bank" : "order");
        body.putObject("context").set("data", order.json());
        runs.put(order.fate(), api().postWithKey("/api/v1/instances", body, order.name()).get("id").asString());
    }

    private String run(Fate fate) {
        String run = runs.get(fate);
        if (run == null) {
            throw new IllegalStateException("order-" + fate.letter() + " has no run");
        }
        return run;
    }

    /** Waits until the run has ended or needs somebody. */
    private JsonNode settled(Order order) {
        return settled(api(), run(order.fate()), order.name());
    }

    static JsonNode settled(Stage.Api api, String run, String name) {
        long deadline = System.nanoTime() + Children.PATIENCE.toNanos();
        while (System.nanoTime() < deadline) {
            JsonNode view = api.get("/api/v1/instances/" + run + "?wait_ms=" + WAIT_MILLIS);
            String state = view.path("state").asString("");
            boolean needsSomebody = state.equals("waiting") && view.path("next_fire_at").isNull();
            if (needsSomebody || List.of("completed", "failed", "cancelled", "paused").contains(state)) {
                return view;
            }
        }
        throw new IllegalStateException("the run of " + name + " does not come to rest");
    }

    /** The receipts of an order, by block; of several attempts the last. */
    private Map<String, JsonNode> receipts(Fate fate) {
        return receipts(api(), run(fate));
    }

    static Map<String, JsonNode> receipts(Stage.Api api, String run) {
        Map<String, JsonNode> receipts = new HashMap<>();
        for (JsonNode one : api.get("/api/v1/instances/" + run + "/effects").path("items")) {
            receipts.merge(
                    one.path("block_id").asString(), one,
                    (a, b) -> a.path("attempt").asInt() > b.path("attempt").asInt() ? a : b);
        }
        return receipts;
    }

    private void tell(Order order, JsonNode run) {
        Map<String, JsonNode> receipts = receipts(order.fate());
        JsonNode charge = receipts.getOrDefault("charge", Json.NODES.missingNode());
        String state = charge.path("state").asString("not sent");
        String start = order.name() + "  charge  ";
        switch (state) {
            case "committed" -> show.step(start + done(charge, receipts) + runState(run));
            case "verified" -> {
                show.step(start + show.state("unknown") + ": " + wasUnknown(charge) + "   " + show.dim(booked(order)));
                show.step(start + "its verifier asked Acme Pay by key and found it: " + done(charge, receipts) + runState(run));
            }
            case "unknown" -> show.step(start + show.state(state) + ": " + reason(charge) + "   " + show.dim(booked(order)));
            case "not_applied" -> show.step(start + state + ": " + answer(run) + "   " + show.dim("a clear no: nothing to reconcile"));
            default -> show.step(start + state + runState(run));
        }
    }

    /** What nobody but the provider knows yet. */
    private String booked(Order order) {
        String booked = Tally.chargeId(scene.ledger(Strategy.WAYBILL), order);
        String house = order.fate() == Fate.KILLED ? "Acme Bank" : "Acme Pay";
        return booked.isEmpty() ? house + " never booked it" : house + " HAS booked " + booked + "; its answer is lost";
    }

    private String wasUnknown(JsonNode charge) {
        for (JsonNode row : api().get("/api/v1/effects/" + text(charge, "effect_id")).path("journal")) {
            if (text(row, "to").equals("unknown")) {
                return reason(row);
            }
        }
        return "unknown";
    }

    private String done(JsonNode charge, Map<String, JsonNode> receipts) {
        JsonNode ship = receipts.getOrDefault("ship", Json.NODES.missingNode());
        return show.state(text(charge, "state")) + " " + text(charge, "provider_receipt_id") + "   label "
                + show.state(ship.path("state").asString("not sent")) + " " + text(ship, "provider_receipt_id") + "   ";
    }

    static String runState(JsonNode run) {
        String state = run.path("state").asString("");
        return state.equals("completed") ? "done" : state;
    }

    static String reason(JsonNode receipt) {
        String reason = text(receipt, "reason");
        return reason.equals("crash") ? "the engine died before an answer was stored" : reason.replace('_', ' ');
    }

    /** The provider's own no, where the run's error carries it. */
    private static String answer(JsonNode run) {
        JsonNode details = run.path("error").path("details");
        return details.has("error_code")
                ? details.path("status").asString("") + " " + text(details, "error_code")
                : text(run.path("error"), "message");
    }

    static String text(JsonNode json, String field) {
        return json.path(field).asString("");
    }

    // --- kill -9 ---------------------------------------------------------------------------------------------------------------

    void killAndRestart() {
        Child engine = engines.getLast();
        Order order = Order.of(scene.orders(), Fate.KILLED);
        show.step(order.name() + "  charge  ...");
        if (scene.killAt() == KillAt.BOOKED) {
            scene.kill(engine, acme());
        } else {
            engine.awaitLine(line -> line.startsWith(Children.STOPPED), Children.PATIENCE);
            engine.kill();
        }
        show.step(show.bad("kill -9 " + engine.pid()) + "   " + scene.killAt().words());
        Child next = startEngine(null);
        JsonNode run = settled(order);
        differences.addAll(sentBeforeAnybodyDecided());
        int unknown = unknown().size();
        show.step("engine up again (pid " + next.pid() + "): " + show.warn(unknown + (unknown == 1 ? " receipt is" : " receipts are") + " UNKNOWN")
                + (differences.isEmpty() ? ". Nothing is sent again." : ""));
        if (!scene.killAt().leavesUnknown()) {
            show.note(order.name() + " goes on by itself: " + scene.killAt().goesOn());
        }
        tell(order, run);
    }

    private List<JsonNode> unknown() {
        List<JsonNode> unknown = new ArrayList<>();
        api().get("/api/v1/effects?state=unknown").path("items").forEach(unknown::add);
        // The list has the newest first; who works it off begins with the oldest.
        return unknown.reversed();
    }

    /** @return what the ledger and the queue have that they should not have, now that the engine is back and nobody has decided yet */
    private List<String> sentBeforeAnybodyDecided() {
        List<String> differences = new ArrayList<>();
        Tally tally = Tally.of(scene.ledger(Strategy.WAYBILL), scene.orders());
        for (Fate fate : Fate.values()) {
            int most = Expectation.mostSends(fate);
            if (tally.get(fate).sends() > most) {
                differences.add("Waybill, order-" + fate.letter() + ": " + tally.get(fate).sends() + " send(s) before anybody decided, expected at most "
                        + most);
            }
        }
        List<String> waiting = forAPerson().stream()
                .map(effect -> effect.path("labels").path("order").asString("") + " " + text(effect, "block_id"))
                .sorted()
                .toList();
        List<String> expected = Expectation.forAPerson(scene.killAt()).stream().map(fate -> "order-" + fate.letter() + " charge").toList();
        if (!waiting.equals(expected)) {
            differences.add("Waybill: a person is needed for " + waiting + ", expected " + expected);
        }
        return differences;
    }

    /** Those without anything that heals them by itself. */
    private List<JsonNode> forAPerson() {
        return unknown().stream()
                .filter(effect -> !api().get("/api/v1/effects/" + text(effect, "effect_id")).path("healing").path("verifier").asBoolean(false))
                .toList();
    }

    // --- the person ------------------------------------------------------------------------------------------------------------

    void operate() {
        show.note("what an operator does" + (port == FIRST_PORT ? "" : "   " + show.dim("(with WAYBILL_URL=" + server() + ")")));
        operator = new Operator(api(), show, scene);
        operator.workOff(unknown());
        Order swallowed = Order.of(scene.orders(), Fate.SWALLOWED);
        JsonNode run = settled(swallowed);
        show.step(swallowed.name() + "  its verifier asked Acme Pay until nothing could arrive any more: not there, sent once more   charge "
                + done(receipts(Fate.SWALLOWED).getOrDefault("charge", Json.NODES.missingNode()), receipts(Fate.SWALLOWED)) + runState(run));
        for (Order order : scene.orders()) {
            settled(order);
        }
    }

    /** @return what was not as it must be, so far and in the end */
    List<String> differences() {
        List<String> differences = new ArrayList<>(this.differences);
        for (Fate fate : Fate.values()) {
            String expected = switch (fate) {
                case DECLINED -> "not_applied";
                case ANSWER_LOST -> "verified";
                case NORMAL, SWALLOWED, KILLED -> "committed";
            };
            String state = text(receipts(fate).getOrDefault("charge", Json.NODES.missingNode()), "state");
            if (!state.equals(expected)) {
                differences.add("Waybill, order-" + fate.letter() + ": the charge's receipt is " + state + ", expected " + expected);
            }
        }
        return differences;
    }

    ObjectNode document() {
        ObjectNode document = Json.NODES.objectNode();
        document.put("server", server());
        var orders = document.putArray("orders");
        for (Order order : scene.orders()) {
            ObjectNode one = orders.addObject().put("order", order.name()).put("fate", order.fate().name().toLowerCase(Locale.ROOT)).put("amount", order.money());
            one.put("run", run(order.fate()));
            one.set("state", api().get("/api/v1/instances/" + run(order.fate())).path("state"));
            var receipts = one.putArray("receipts");
            for (JsonNode receipt : api().get("/api/v1/instances/" + run(order.fate()) + "/effects").path("items")) {
                ObjectNode row = receipts.addObject();
                for (String field : List.of("effect_id", "block_id", "attempt", "state", "reason", "proof", "provider_receipt_id")) {
                    row.set(field, receipt.path(field));
                }
            }
        }
        if (operator != null) {
            document.set("resolutions", operator.resolutions());
        }
        return document;
    }

    @Override
    public void close() {
        for (Child engine : engines) {
            engine.close();
            save(scene.file("engine-" + engine.pid() + ".log"), engine.errors());
        }
        Scene.close(provider);
    }

    private static void save(Path file, List<String> lines) {
        try {
            Files.write(file, lines);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + file, e);
        }
    }
}

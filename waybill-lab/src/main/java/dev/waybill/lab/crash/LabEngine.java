package dev.waybill.lab.crash;

import dev.waybill.EngineOptions;
import dev.waybill.Waybill;
import dev.waybill.engine.Meter;
import dev.waybill.handler.EffectHandler;
import dev.waybill.json.Json;
import dev.waybill.model.EffectState;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.EffectCase;
import dev.waybill.operate.Resolution;
import dev.waybill.operate.RunView;
import dev.waybill.operate.StartRequest;
import dev.waybill.store.JournalRow;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * An engine in a process of its own, to be killed or frozen. It prints {@code READY node} when it runs, {@code AT POINT path} when a
 * thread is held at a stop (for ever, unless {@code open} is asked for), and answers JSON lines on standard input ({@code {"id", "do",
 * ..}}) with {@code = {"id", "ok" | "error"}}, each on its own thread. SIGTERM drains: {@code DRAINING}, {@code DRAINED}, exit 0. An
 * engine that refuses to open prints {@code REFUSED CODE message} and exits with 3. It never outlives its director.
 */
public final class LabEngine {
    private static final String TENANT = "default";
    private static final String ACTOR = "lab";
    private static final Set<String> COUNTED = Set.of(
            "waybill_takeovers_total", "waybill_commits_unclear_total", "waybill_commits_refused_total", "waybill_late_truth_total",
            "waybill_ledger_behind_total", "waybill_recorder_total");
    private static final int QUEUE_PAGE = 200;

    private final Waybill engine;
    private final Stops stops;
    private final PrintStream out;
    private final AtomicReference<Duration> clockOffset;

    private LabEngine(Waybill engine, Stops stops, PrintStream out, AtomicReference<Duration> clockOffset) {
        this.engine = engine;
        this.stops = stops;
        this.out = out;
        this.clockOffset = clockOffset;
    }

    /** What the command line says. */
    private static final class Arguments {
        String store = "";
        @Nullable Path nodeDirectory;
        final List<String> allowed = new ArrayList<>();
        final List<String> stops = new ArrayList<>();
        Duration lease = EngineOptions.DEFAULT.lease();
        Duration heartbeat = EngineOptions.DEFAULT.heartbeat();
        Duration drain = EngineOptions.DEFAULT.drain();
        Duration clockOffset = Duration.ZERO;
        @Nullable String nodeName;
        @Nullable Path recorder;
        boolean noRecorder;
        boolean restored;
        boolean counts;

        Arguments(String[] given) {
            for (int i = 0; i < given.length; i++) {
                switch (given[i]) {
                    case "--store" -> store = given[++i];
                    case "--node-directory" -> nodeDirectory = Path.of(given[++i]);
                    case "--allow" -> allowed.add(given[++i]);
                    case "--stop-at" -> stops.add(given[++i]);
                    case "--lease-ms" -> lease = Duration.ofMillis(Long.parseLong(given[++i]));
                    case "--heartbeat-ms" -> heartbeat = Duration.ofMillis(Long.parseLong(given[++i]));
                    case "--drain-ms" -> drain = Duration.ofMillis(Long.parseLong(given[++i]));
                    case "--clock-offset-ms" -> clockOffset = Duration.ofMillis(Long.parseLong(given[++i]));
                    case "--node-name" -> nodeName = given[++i];
                    case "--recorder" -> recorder = Path.of(given[++i]);
                    case "--no-recorder" -> noRecorder = true;
                    case "--counts" -> counts = true;
                    case "--restored" -> restored = true;
                    default -> throw new IllegalArgumentException("unknown argument " + given[i]);
                }
            }
        }
    }

    public static void main(String[] given) throws IOException {
        Arguments arguments = new Arguments(given);
        PrintStream out = System.out;
        Stops stops = new Stops(line -> say(out, line));
        arguments.stops.forEach(stops::add);
        AtomicReference<Duration> clockOffset = new AtomicReference<>(arguments.clockOffset);
        InstantSource system = InstantSource.system();
        Waybill.Builder builder = Waybill.url(arguments.store)
                .options(EngineOptions.DEFAULT
                        .withLease(arguments.lease, arguments.heartbeat)
                        .withDrain(arguments.drain)
                        .withRestored(arguments.restored))
                .allowAddresses(arguments.allowed)
                .meter(arguments.counts ? counting(out) : Meter.NONE)
                .clock(() -> system.instant().plus(clockOffset.get()))
                .handler("hold", holding(out))
                .crashPoints(stops);
        if (arguments.nodeName != null) {
            builder.nodeName(arguments.nodeName);
        }
        if (arguments.nodeDirectory != null) {
            builder.nodeDirectory(arguments.nodeDirectory);
        }
        if (arguments.recorder != null) {
            builder.flightRecorder(arguments.recorder);
        }
        if (arguments.noRecorder) {
            builder.withoutFlightRecorder();
        }
        Waybill engine;
        try {
            engine = builder.open();
        } catch (WaybillException e) {
            say(out, "REFUSED " + e.code() + " " + e.getMessage());
            Runtime.getRuntime().halt(3);
            return;
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> drain(engine, out), "lab-drain"));
        say(out, "READY " + engine.node());
        new LabEngine(engine, stops, out, clockOffset).serve();
    }

    /** A handler of the application's own, which has begun ({@code HOLDING path}) and never ends. */
    private static EffectHandler holding(PrintStream out) {
        return request -> new EffectHandler.Preparation.Ready(dispatch -> {
            say(out, "HOLDING " + dispatch.path() + "#" + dispatch.attempt());
            new CountDownLatch(1).await();
            throw new IllegalStateException("nobody lets it go");
        });
    }

    /** Rare things only: a line for each. */
    private static Meter counting(PrintStream out) {
        return new Meter() {
            @Override
            public void count(String name, long by, String... labels) {
                if (by > 0 && COUNTED.contains(name)) {
                    say(out, "COUNT " + name + (labels.length > 1 ? "/" + labels[1] : "") + " " + by);
                }
            }

            @Override
            public void record(String name, double value, String... labels) {}
        };
    }

    private static void drain(Waybill engine, PrintStream out) {
        say(out, "DRAINING");
        try {
            engine.close();
        } catch (RuntimeException e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
        say(out, "DRAINED");
        Runtime.getRuntime().halt(0); // a drained engine ended well, whatever signal asked for it
    }

    private static void say(PrintStream out, String line) {
        synchronized (out) {
            out.println(line);
            out.flush();
        }
    }

    private void serve() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = Json.parseDefinition(line);
            Thread.ofVirtual().start(() -> answer(request));
        }
        Runtime.getRuntime().halt(2); // the director is gone
    }

    private void answer(JsonNode request) {
        ObjectNode answer = Json.NODES.objectNode().put("id", request.path("id").asInt());
        try {
            answer.set("ok", handle(request));
        } catch (WaybillException e) {
            answer.putObject("error").put("code", e.code()).put("status", e.status()).put("message", e.getMessage());
        } catch (RuntimeException e) {
            e.printStackTrace();
            answer.putObject("error").put("code", "EXCEPTION").put("message", e.toString());
        }
        say(out, "= " + Json.write(answer));
    }

    private JsonNode handle(JsonNode request) {
        return switch (request.path("do").asString()) {
            case "publish" -> Json.NODES.stringNode(engine.sequences().publish(TENANT, request.path("document")).id().toString());
            case "start" -> {
                StartRequest start = StartRequest.of(request.path("name").asString(), request.path("data"));
                yield Json.NODES.stringNode(engine.runs()
                        .start(request.has("key") ? start.withKey(request.path("key").asString()) : start)
                        .id()
                        .toString());
            }
            case "run" -> run(engine.runs().get(TENANT, id(request, "run")));
            case "await" -> run(engine.runs().await(TENANT, id(request, "run"), Duration.ofMillis(request.path("millis").asLong())));
            case "effects" -> effects(id(request, "run"));
            case "resolve" -> effect(engine.effects().resolve(TENANT, id(request, "effect"), resolution(request)));
            case "retry" -> run(engine.runs().retry(TENANT, id(request, "run"), ACTOR));
            case "pause" -> run(engine.runs().pause(TENANT, id(request, "run"), ACTOR));
            case "resume" -> run(engine.runs().resume(TENANT, id(request, "run"), ACTOR));
            case "cancel" -> run(engine.runs().cancel(TENANT, id(request, "run"), ACTOR));
            case "accept" -> Json.NODES.numberNode(engine.runs().acceptLedger(ACTOR));
            case "unresolved" -> Json.NODES.numberNode(engine.queries().openDepth().stream().mapToLong(open -> open.depth()).sum());
            case "queue" -> queue();
            case "supply" -> effect(engine.effects().supplyOutput(
                    TENANT, id(request, "effect"), request.path("output"), "seen in the provider's ledger", null, ACTOR));
            case "stop" -> {
                stops.add(request.path("at").asString());
                yield Json.NODES.nullNode();
            }
            case "clock" -> {
                clockOffset.set(Duration.ofMillis(request.path("offset").asLong()));
                yield Json.NODES.nullNode();
            }
            case "open" -> {
                stops.open();
                yield Json.NODES.nullNode();
            }
            default -> throw new IllegalArgumentException("unknown request " + request);
        };
    }

    /** What waits for a person: {@code {id, state, quiet_at}} each, state unknown or output_lost. */
    private ArrayNode queue() {
        ArrayNode all = Json.NODES.arrayNode();
        EffectFilter open = new EffectFilter(
                TENANT, true, Set.of(), null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, QUEUE_PAGE);
        for (EffectView view : engine.effects().list(open)) {
            boolean lost = view.last() != null && view.last().outputState() == JournalRow.OutputState.LOST;
            all.addObject()
                    .put("id", view.receipt().id().toString())
                    .put("state", lost ? "output_lost" : view.state().wire())
                    .put("quiet_at", String.valueOf(view.receipt().quietAt()));
        }
        return all;
    }

    private static UUID id(JsonNode request, String member) {
        return UUID.fromString(request.path(member).asString());
    }

    private static Resolution resolution(JsonNode request) {
        String then = request.path("then").asString("");
        return new Resolution(
                EffectState.ofWire(request.path("state").asString()), request.path("note").asString("seen in the provider's ledger"), null,
                request.path("provider_receipt_id").asString(null), request.get("output"),
                then.isEmpty() ? null : Resolution.Then.valueOf(then.toUpperCase(Locale.ROOT)), ACTOR);
    }

    private static ObjectNode run(RunView run) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("id", run.id().toString()).put("state", run.state().wire()).put("claim_epoch", run.claimEpoch());
        json.set("reasons", run.reasons());
        json.set("output", run.output());
        json.set("error", run.error());
        json.set("residuals", run.residuals());
        return json;
    }

    /** By path and attempt, each with its journal. */
    private ArrayNode effects(UUID run) {
        ArrayNode all = Json.NODES.arrayNode();
        engine.runs().effects(TENANT, run).stream()
                .sorted(java.util.Comparator.comparing((EffectView e) -> e.receipt().path()).thenComparing(e -> e.receipt().attempt()))
                .forEach(view -> all.add(effect(engine.effects().get(TENANT, view.receipt().id().toString()))));
        return all;
    }

    private static ObjectNode effect(EffectCase one) {
        EffectView view = one.effect();
        ObjectNode json = Json.NODES.objectNode();
        json.put("id", view.receipt().id().toString());
        json.put("path", view.receipt().path());
        json.put("attempt", view.receipt().attempt());
        json.put("state", view.state().wire());
        json.put("epoch", view.receipt().claim().epoch());
        ArrayNode journal = json.putArray("journal");
        for (JournalRow row : one.journal()) {
            ObjectNode move = journal.addObject();
            move.put("from", row.from().wire()).put("to", row.to().wire()).put("actor", row.actor()).put("reason", row.reason());
            move.put("proof", row.proof() == null ? null : row.proof().wire());
            move.put("provider_receipt_id", row.providerReceiptId());
            move.put("at", String.valueOf(row.at()));
            move.set("output", row.output() == null ? null : Json.parse(row.output()));
        }
        ArrayNode evidence = json.putArray("evidence");
        one.evidence().forEach(row -> evidence.add(row.kind()));
        return json;
    }
}

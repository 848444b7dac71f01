package dev.waybill.server.cli;

import static dev.waybill.server.cli.Terminal.text;
import static java.util.Map.entry;

import dev.waybill.json.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code waybill run ..} */
@Command(name = "run", mixinStandardHelpOptions = true, description = "Starts runs, shows them, steers them.")
final class RunCommand extends Cli.Group {
    private static final String BASE = "/api/v1/instances";
    private static final int WAIT_SLICE_MILLIS = 20_000;
    private final Terminal terminal;
    private final Cli.World world;

    RunCommand(Cli.World world) {
        this.world = world;
        terminal = world.terminal();
    }

    @Command(
            name = "start",
            mixinStandardHelpOptions = true,
            description = "Starts a run. With --wait: exit 0 when it completed, 1 when it failed, 5 when an effect is unknown.")
    int start(
            @Mixin Connection connection,
            @Parameters(paramLabel = "NAME", description = "The sequence's name") String name,
            @Option(names = {"-i", "--input"}, paramLabel = "JSON|@FILE", defaultValue = "{}", description = "context.data ({}).") String input,
            @Option(names = "--key", paramLabel = "K", description = "The same key starts the run once.") @Nullable String key,
            @Option(names = "--namespace", defaultValue = "default", description = "Namespace (default).") String namespace,
            @Option(names = "--version-number", paramLabel = "N", description = "Version; default the newest.") @Nullable Integer version,
            @Option(names = "--metadata", paramLabel = "K=V", description = "For filters; may be repeated.") @Nullable Map<String, String> metadata,
            @Option(names = "--wait", description = "Wait until it has ended or needs somebody.") boolean wait,
            @Option(names = "--timeout", paramLabel = "SECONDS", defaultValue = "3600", description = "Longest wait (3600).") long timeout) {
        ApiClient api = new ApiClient(connection);
        ObjectNode body = Json.NODES.objectNode().put("sequence_name", name).put("namespace", namespace);
        if (version != null) {
            body.put("version", version);
        }
        if (metadata != null) {
            ObjectNode fields = body.putObject("metadata");
            new TreeMap<>(metadata).forEach(fields::put);
        }
        body.putObject("context").set("data", Input.json(input, "the input"));
        // A key of our own makes it safe to ask again when the answer is lost.
        JsonNode started = api.postWithKey(BASE, body, key == null ? world.ids().get().toString() : key);
        String id = text(started, "id");
        if (!wait) {
            if (connection.json()) {
                terminal.json(started);
            } else {
                terminal.line("run " + id + (started.path("deduplicated").asBoolean(false) ? " was started before with this key" : " started"));
            }
            return Exit.OK;
        }
        JsonNode run = await(api, id, Duration.ofSeconds(timeout));
        show(connection, api, run);
        return exitOfEnd(run);
    }

    private JsonNode await(ApiClient api, String id, Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        while (true) {
            long left = Math.max(0, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime()));
            JsonNode run = api.get(BASE + "/" + id + "?wait_ms=" + Math.min(WAIT_SLICE_MILLIS, left));
            if (settled(run)) {
                return run;
            }
            if (left == 0) {
                throw new CliFailure(Exit.FAILED, "run " + id + " is still " + text(run, "state"), "waybill run show " + id);
            }
        }
    }

    /** Ended, or nothing will happen by itself. */
    private static boolean settled(JsonNode run) {
        return switch (text(run, "state")) {
            case "completed", "failed", "cancelled", "paused" -> true;
            case "waiting" -> run.path("next_fire_at").isNull();
            default -> false;
        };
    }

    private static boolean unresolved(JsonNode run) {
        boolean waits = false;
        for (JsonNode reason : run.path("reasons")) {
            waits |= text(reason, "reason").equals("effect_unknown");
        }
        return waits || text(run.path("error"), "code").equals("EFFECT_BLOCKED");
    }

    private static int exitOfEnd(JsonNode run) {
        if (unresolved(run)) {
            return Exit.UNRESOLVED;
        }
        return text(run, "state").equals("completed") ? Exit.OK : Exit.FAILED;
    }

    @Command(name = "list", mixinStandardHelpOptions = true, description = "Runs, newest first.")
    int list(
            @Mixin Connection connection,
            @Option(names = "--state", paramLabel = "STATE[,..]", description = "Only these.") @Nullable String state,
            @Option(names = "--sequence-id", paramLabel = "ID", description = "Only runs of this version.") @Nullable String sequence,
            @Option(names = "--metadata", paramLabel = "K=V", description = "All must match; may be repeated.") @Nullable Map<String, String> metadata,
            @Option(names = "--limit", defaultValue = "50", description = "At most this many (50).") int limit) {
        StringBuilder path = new StringBuilder(BASE + "?limit=" + limit);
        if (state != null) {
            path.append("&state=").append(ApiClient.encode(state));
        }
        if (sequence != null) {
            path.append("&sequence_id=").append(ApiClient.encode(sequence));
        }
        if (metadata != null) {
            metadata.forEach((k, v) -> path.append("&metadata.").append(ApiClient.encode(k)).append('=').append(ApiClient.encode(v)));
        }
        JsonNode page = new ApiClient(connection).get(path.toString());
        if (connection.json()) {
            terminal.json(page);
            return Exit.OK;
        }
        Instant now = world.clock().instant();
        List<List<String>> rows = new ArrayList<>();
        for (JsonNode run : page.path("items")) {
            rows.add(List.of(
                    text(run, "id"), text(run, "sequence_name") + " v" + text(run, "sequence_version"), text(run, "state"),
                    Terminal.age(Instant.parse(text(run, "created_at")), now), why(run)));
        }
        terminal.table(List.of("ID", "SEQUENCE", "STATE", "AGE", "WHY"), rows);
        if (page.path("has_more").asBoolean(false)) {
            terminal.line("there are more: --limit");
        }
        return Exit.OK;
    }

    private static String why(JsonNode run) {
        if (!text(run, "error").isEmpty()) {
            return (text(run.path("error"), "code") + " " + text(run.path("error"), "message")).strip();
        }
        List<String> reasons = new ArrayList<>();
        run.path("reasons").forEach(reason -> reasons.add((text(reason, "reason") + " " + text(reason, "path")).strip()));
        return String.join(", ", reasons);
    }

    @Command(name = "show", mixinStandardHelpOptions = true, description = "One run with its blocks. Exit 5 when it waits for an unknown effect.")
    int show(@Mixin Connection connection, @Parameters(paramLabel = "ID") String id) {
        ApiClient api = new ApiClient(connection);
        JsonNode run = api.get(BASE + "/" + ApiClient.encode(id));
        show(connection, api, run);
        return unresolved(run) ? Exit.UNRESOLVED : Exit.OK;
    }

    private void show(Connection connection, ApiClient api, JsonNode run) {
        if (connection.json()) {
            terminal.json(run);
            return;
        }
        terminal.line("run " + text(run, "id") + "   " + terminal.state(text(run, "state")));
        terminal.fields(List.of(
                entry("sequence", text(run, "sequence_name") + " v" + text(run, "sequence_version")),
                entry("key", text(run, "idempotency_key")),
                entry("created", text(run, "created_at")),
                entry("next", text(run, "next_fire_at")),
                entry("why", why(run)),
                entry("output", text(run, "output"))));
        for (JsonNode node : api.get(BASE + "/" + text(run, "id") + "/tree").path("items")) {
            tree(node, 1);
        }
        for (JsonNode reason : run.path("reasons")) {
            if (!text(reason, "effect_id").isEmpty()) {
                terminal.line("next:  waybill effects show " + text(reason, "effect_id"));
            }
        }
    }

    private void tree(JsonNode node, int depth) {
        String name = "  ".repeat(depth) + Terminal.clean(text(node, "id"));
        JsonNode detail = node.path("detail");
        String note = detail.isObject() ? text(detail, "code") + text(detail, "reason") : "";
        terminal.line(name + " ".repeat(Math.max(2, 28 - name.length())) + terminal.state(text(node, "status"))
                + (note.isEmpty() ? "" : "   " + Terminal.clean(note)));
        node.path("children").forEach(child -> tree(child, depth + 1));
    }

    @Command(name = "retry", mixinStandardHelpOptions = true, description = "Runs a failed run again from the failed step; committed effects are reused.")
    int retry(@Mixin Connection connection, @Parameters(paramLabel = "ID") String id) {
        return steered(connection, new ApiClient(connection).post(BASE + "/" + ApiClient.encode(id) + "/retry", Json.NODES.objectNode()));
    }

    @Command(
            name = "compensate", mixinStandardHelpOptions = true,
            description = "Undoes what the unfinished sagas of a failed or cancelled run certainly did; what is unknown is left alone.")
    int compensate(@Mixin Connection connection, @Parameters(paramLabel = "ID") String id) {
        return steered(connection, new ApiClient(connection).post(BASE + "/" + ApiClient.encode(id) + "/compensate", Json.NODES.objectNode()));
    }

    @Command(name = "cancel", mixinStandardHelpOptions = true, description = "Ends a run; what is in flight is awaited, unfinished sagas are undone.")
    int cancel(@Mixin Connection connection, @Parameters(paramLabel = "ID") String id) {
        return signal(connection, id, "cancel");
    }

    @Command(name = "pause", mixinStandardHelpOptions = true, description = "Nothing more is sent until it is resumed.")
    int pause(@Mixin Connection connection, @Parameters(paramLabel = "ID") String id) {
        return signal(connection, id, "pause");
    }

    @Command(name = "resume", mixinStandardHelpOptions = true, description = "Goes on after a pause.")
    int resume(@Mixin Connection connection, @Parameters(paramLabel = "ID") String id) {
        return signal(connection, id, "resume");
    }

    private int signal(Connection connection, String id, String signal) {
        return steered(
                connection,
                new ApiClient(connection)
                        .post(BASE + "/" + ApiClient.encode(id) + "/signals", Json.NODES.objectNode().put("signal_type", signal)));
    }

    private int steered(Connection connection, JsonNode run) {
        if (connection.json()) {
            terminal.json(run);
        } else {
            terminal.line("run " + text(run, "id") + "   " + terminal.state(text(run, "state")));
        }
        return Exit.OK;
    }
}

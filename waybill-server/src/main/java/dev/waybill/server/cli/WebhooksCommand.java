package dev.waybill.server.cli;

import static dev.waybill.server.cli.Terminal.text;

import dev.waybill.json.Json;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code waybill webhooks ..} */
@Command(name = "webhooks", mixinStandardHelpOptions = true, description = "Where events are sent, and how that fares.")
final class WebhooksCommand extends Cli.Group {
    private static final String BASE = "/api/v1/webhooks";
    private final Terminal terminal;

    WebhooksCommand(Cli.World world) {
        terminal = world.terminal();
    }

    @Command(name = "add", mixinStandardHelpOptions = true, description = "Sends events from now on to URL; prints the secret, this once.")
    int add(
            @Mixin Connection connection,
            @Parameters(paramLabel = "URL") String url,
            @Option(names = "--event", paramLabel = "TYPE", split = ",", description = "Event types; default: what a person must hear of.")
                    @Nullable List<String> events,
            @Option(names = "--secret", paramLabel = "whsec_..", description = "Default: one is made.") @Nullable String secret) {
        ObjectNode body = Json.NODES.objectNode().put("url", url);
        if (events != null) {
            events.forEach(body.putArray("events")::add);
        }
        if (secret != null) {
            body.put("secret", secret);
        }
        return withSecret(connection, new ApiClient(connection).post(BASE, body), "added");
    }

    @Command(name = "list", mixinStandardHelpOptions = true, description = "Every webhook of the tenant.")
    int list(@Mixin Connection connection) {
        JsonNode page = new ApiClient(connection).get(BASE);
        if (connection.json()) {
            terminal.json(page);
            return Exit.OK;
        }
        List<List<String>> rows = new ArrayList<>();
        for (JsonNode row : page.path("items")) {
            rows.add(List.of(text(row, "id"), text(row, "state"), text(row, "failures"), Terminal.clean(text(row, "url")), Terminal.clean(text(row, "last_error"))));
        }
        terminal.table(List.of("ID", "STATE", "FAILURES", "URL", "LAST ERROR"), rows);
        return Exit.OK;
    }

    @Command(name = "show", mixinStandardHelpOptions = true, description = "One webhook.")
    int show(@Mixin Connection connection, @Parameters(paramLabel = "ID") String id) {
        terminal.json(new ApiClient(connection).get(BASE + "/" + ApiClient.encode(id)));
        return Exit.OK;
    }

    @Command(name = "remove", mixinStandardHelpOptions = true, description = "Nothing is sent there any more.")
    int remove(@Mixin Connection connection, @Parameters(paramLabel = "ID") String id) {
        return said(connection, post(connection, id, "remove", Json.NODES.objectNode()), "removed");
    }

    @Command(name = "rotate", mixinStandardHelpOptions = true, description = "A new secret, printed this once; for a day the old one signs too.")
    int rotate(@Mixin Connection connection, @Parameters(paramLabel = "ID") String id) {
        return withSecret(connection, post(connection, id, "rotate", Json.NODES.objectNode()), "has a new secret");
    }

    @Command(name = "replay", mixinStandardHelpOptions = true, description = "Sends again, also where it was parked.")
    int replay(
            @Mixin Connection connection,
            @Parameters(paramLabel = "ID") String id,
            @Option(names = "--from", paramLabel = "here|skip|beginning", defaultValue = "here",
                    description = "here: where it stands; skip: past the event that is next; beginning: all that the outbox holds.") String from) {
        return said(connection, post(connection, id, "replay", Json.NODES.objectNode().put("from", from)), "sends again");
    }

    @Command(name = "test", mixinStandardHelpOptions = true, description = "Sends webhook.test now; exit 1 when it is not taken.")
    int test(@Mixin Connection connection, @Parameters(paramLabel = "ID") String id) {
        JsonNode result = post(connection, id, "test", Json.NODES.objectNode());
        boolean delivered = result.path("delivered").asBoolean();
        if (connection.json()) {
            terminal.json(result);
        } else {
            terminal.line(delivered ? "taken, " + text(result, "status") : "not taken: " + Terminal.clean(text(result, "error")));
        }
        return delivered ? Exit.OK : Exit.FAILED;
    }

    private static JsonNode post(Connection connection, String id, String verb, ObjectNode body) {
        return new ApiClient(connection).post(BASE + "/" + ApiClient.encode(id) + "/" + verb, body);
    }

    private int said(Connection connection, JsonNode webhook, String what) {
        if (connection.json()) {
            terminal.json(webhook);
        } else {
            terminal.line("webhook " + text(webhook, "id") + " " + what);
        }
        return Exit.OK;
    }

    private int withSecret(Connection connection, JsonNode webhook, String what) {
        said(connection, webhook, what);
        if (!connection.json()) {
            terminal.line("secret  " + text(webhook, "secret") + "   keep it: it is not shown again");
        }
        return Exit.OK;
    }
}

package dev.waybill.server.cli;

import static dev.waybill.server.cli.Terminal.text;

import dev.waybill.json.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;

/** {@code waybill destinations ..} */
@Command(name = "destinations", mixinStandardHelpOptions = true, description = "Destinations with a profile: which are held; hold and release them.")
final class DestinationsCommand extends Cli.Group {
    private static final String BASE = "/api/v1/destinations";
    private final Cli.World world;
    private final Terminal terminal;

    DestinationsCommand(Cli.World world) {
        this.world = world;
        terminal = world.terminal();
    }

    @Command(name = "list", mixinStandardHelpOptions = true, description = "Every destination, and whether it is held.")
    int list(@Mixin Connection connection) {
        JsonNode page = new ApiClient(connection).get(BASE);
        if (connection.json()) {
            terminal.json(page);
            return Exit.OK;
        }
        Instant now = world.clock().instant();
        List<List<String>> rows = new ArrayList<>();
        for (JsonNode row : page.path("items")) {
            boolean held = row.path("held").asBoolean(false);
            rows.add(List.of(
                    text(row, "name"), text(row, "destination"), held ? "held" : "open", held ? Terminal.age(Instant.parse(text(row, "since")), now) : "",
                    text(row, "by"), text(row, "reason"), text(row, "next_probe_at")));
        }
        terminal.table(List.of("NAME", "DESTINATION", "", "AGE", "BY", "REASON", "NEXT PROBE"), rows);
        return Exit.OK;
    }

    @Command(name = "hold", mixinStandardHelpOptions = true, description = "New dispatches wait until it is released by hand; nothing fails.")
    int hold(
            @Mixin Connection connection,
            @Parameters(paramLabel = "NAME", description = "Name, address or handler") String which,
            @Option(names = "--reason", required = true, description = "Stands in the audit log.") String reason) {
        return set(connection, "/hold", which, reason);
    }

    @Command(name = "release", mixinStandardHelpOptions = true, description = "Ends a hold, whoever began it.")
    int release(
            @Mixin Connection connection,
            @Parameters(paramLabel = "NAME", description = "Name, address or handler") String which,
            @Option(names = "--reason", required = true, description = "Stands in the audit log.") String reason) {
        return set(connection, "/release", which, reason);
    }

    private int set(Connection connection, String deed, String which, String reason) {
        JsonNode answer = new ApiClient(connection).post(BASE + deed, Json.NODES.objectNode().put("destination", which).put("reason", reason));
        if (connection.json()) {
            terminal.json(answer);
        } else {
            terminal.line(Terminal.clean(text(answer, "name")) + " is " + (answer.path("held").asBoolean(false) ? "held" : "open") + "   "
                    + Terminal.clean(text(answer, "destination")));
        }
        return Exit.OK;
    }
}

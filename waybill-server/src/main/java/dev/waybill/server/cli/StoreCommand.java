package dev.waybill.server.cli;

import dev.waybill.json.Json;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import tools.jackson.databind.JsonNode;

/** {@code waybill store ..} */
@Command(name = "store", mixinStandardHelpOptions = true, description = "What concerns the database as a whole.")
final class StoreCommand extends Cli.Group {
    private final Terminal terminal;

    StoreCommand(Cli.World world) {
        terminal = world.terminal();
    }

    @Command(
            name = "accept",
            mixinStandardHelpOptions = true,
            description = "After a restore or a failover: the ledger has been checked against the providers, paused runs may go on.")
    int accept(@Mixin Connection connection) {
        JsonNode answer = new ApiClient(connection).post("/api/v1/store/accept", Json.NODES.objectNode());
        if (connection.json()) {
            terminal.json(answer);
        } else {
            terminal.line(Terminal.text(answer, "released") + " run(s) released");
        }
        return Exit.OK;
    }
}

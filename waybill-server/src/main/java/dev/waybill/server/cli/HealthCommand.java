package dev.waybill.server.cli;

import dev.waybill.json.Json;
import java.net.http.HttpResponse;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import tools.jackson.databind.JsonNode;

/** {@code waybill health} */
@Command(name = "health", mixinStandardHelpOptions = true, description = "Exit 0 when the server is ready, 1 when it is not, 7 when there is none.")
final class HealthCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    Connection connection = new Connection();

    HealthCommand(Cli.World world) {
        terminal = world.terminal();
    }

    @Override
    public Integer call() {
        HttpResponse<byte[]> response = new ApiClient(connection).raw("/health/ready");
        JsonNode json = Json.tryParse(response.body()).orElse(Json.NODES.objectNode());
        String status = Terminal.text(json, "status");
        if (connection.json()) {
            terminal.json(json);
        } else {
            terminal.line(connection.uri("") + "   " + terminal.state(status.isEmpty() ? "not a Waybill server" : status));
        }
        return response.statusCode() == 200 ? Exit.OK : Exit.FAILED;
    }
}

package dev.waybill.server.cli;

import static dev.waybill.server.cli.Terminal.text;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;

/** {@code waybill sequence ..} */
@Command(name = "sequence", mixinStandardHelpOptions = true, description = "Checks, publishes and shows sequences.")
final class SequenceCommand extends Cli.Group {
    private static final String BASE = "/api/v1/sequences";
    private final Terminal terminal;
    private final Cli.World world;

    SequenceCommand(Cli.World world) {
        this.world = world;
        terminal = world.terminal();
    }

    @Command(name = "validate", mixinStandardHelpOptions = true, description = "Every fault and warning of a document; nothing is published.")
    int validate(@Mixin Connection connection, @Parameters(paramLabel = "FILE", description = "JSON or YAML; - = standard input") String file) {
        JsonNode report = new ApiClient(connection).post(BASE + "/validate", Input.file(file), Input.contentType(file));
        boolean valid = report.path("valid").asBoolean(false);
        if (connection.json()) {
            terminal.json(report);
            return valid ? Exit.OK : Exit.FAILED;
        }
        findings(report.path("faults"), "fault", Terminal.Colour.RED);
        findings(report.path("warnings"), "warning", Terminal.Colour.YELLOW);
        if (!valid) {
            throw new CliFailure(Exit.FAILED, (file.equals("-") ? "the document" : file) + " has " + report.path("faults").size() + " fault(s)", "correct them and validate again");
        }
        for (JsonNode step : report.path("guarantees")) {
            terminal.line(Terminal.clean(text(step, "block_id")) + "   " + text(step, "guarantee") + ": " + text(step, "means"));
        }
        terminal.line(file + " is valid");
        return Exit.OK;
    }

    private void findings(JsonNode findings, String what, Terminal.Colour colour) {
        for (JsonNode finding : findings) {
            String pointer = text(finding, "pointer");
            terminal.line(terminal.paint(what, colour) + "  " + text(finding, "code") + "  " + (pointer.isEmpty() ? "(document)" : Terminal.clean(pointer))
                    + "  " + Terminal.clean(text(finding, "message")));
        }
    }

    @Command(name = "apply", mixinStandardHelpOptions = true, description = "Publishes a version.")
    int apply(@Mixin Connection connection, @Parameters(paramLabel = "FILE", description = "JSON or YAML; - = standard input") String file) {
        JsonNode row = new ApiClient(connection).post(BASE, Input.file(file), Input.contentType(file));
        if (connection.json()) {
            terminal.json(row);
        } else {
            terminal.line(text(row, "name") + " version " + text(row, "version") + " published   " + text(row, "id"));
        }
        return Exit.OK;
    }

    @Command(name = "list", mixinStandardHelpOptions = true, description = "All versions.")
    int list(@Mixin Connection connection, @Option(names = "--limit", defaultValue = "50", description = "At most this many (50).") int limit) {
        JsonNode page = new ApiClient(connection).get(BASE + "?limit=" + limit);
        if (connection.json()) {
            terminal.json(page);
            return Exit.OK;
        }
        Instant now = world.clock().instant();
        List<List<String>> rows = new ArrayList<>();
        for (JsonNode row : page.path("items")) {
            rows.add(List.of(
                    text(row, "name"), text(row, "version"), text(row, "namespace"), row.path("deprecated").asBoolean(false) ? "deprecated" : "",
                    text(row, "created_at").isEmpty() ? "" : Terminal.age(Instant.parse(text(row, "created_at")), now), text(row, "id")));
        }
        terminal.table(List.of("NAME", "VERSION", "NAMESPACE", "", "AGE", "ID"), rows);
        return Exit.OK;
    }

    @Command(name = "show", mixinStandardHelpOptions = true, description = "One version, by name or id.")
    int show(
            @Mixin Connection connection,
            @Parameters(paramLabel = "NAME|ID") String name,
            @Option(names = "--namespace", defaultValue = "default", description = "Namespace (default).") String namespace,
            @Option(names = "--version-number", paramLabel = "N", description = "Version; default the newest.") @Nullable Integer version) {
        String path = name.matches("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
                ? BASE + "/" + name
                : BASE + "/by-name?name=" + ApiClient.encode(name) + "&namespace=" + ApiClient.encode(namespace)
                        + (version == null ? "" : "&version=" + version);
        terminal.json(new ApiClient(connection).get(path));
        return Exit.OK;
    }
}

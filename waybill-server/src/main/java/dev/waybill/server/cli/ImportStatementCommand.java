package dev.waybill.server.cli;

import static dev.waybill.server.cli.Terminal.text;

import dev.waybill.json.Json;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code waybill effects import-statement}: exit 0 when the two sides agree, 5 when somebody still has to look. */
@Command(
        name = "import-statement",
        mixinStandardHelpOptions = true,
        description = "Holds a provider's statement (CSV with a header, or JSON lines) against the ledger. Without --apply nothing is written. "
                + "Exit code 5: rows are left that somebody has to look at.")
final class ImportStatementCommand implements Callable<Integer> {
    private final Terminal terminal;

    ImportStatementCommand(Cli.World world) {
        terminal = world.terminal();
    }

    @Mixin
    Connection connection = new Connection();

    @Parameters(paramLabel = "FILE", description = "CSV; *.jsonl and *.ndjson are JSON lines")
    String file = "";

    @Option(names = "--dest", required = true, paramLabel = "D", description = "Whose it is: a destination, or the beginning of several and *.")
    String destination = "";

    @Option(names = "--map", split = ",", paramLabel = "ROLE=COLUMN", description = "Columns of key, id, amount, currency, status.")
    Map<String, String> columns = Map.of();

    @Option(names = "--status", split = ",", paramLabel = "TEXT", description = "Only lines with one of these in the status column count.")
    List<String> statuses = List.of();

    @Option(names = "--amount-label", defaultValue = "amount", paramLabel = "NAME", description = "The receipts' label (amount).")
    String amountLabel = "";

    @Option(
            names = "--match", defaultValue = "key", paramLabel = "key|label:NAME",
            description = "What the key column holds: the idempotency key (default), or the value of this label of an open receipt.")
    String match = "";

    @Option(names = "--minor-units", paramLabel = "N", defaultValue = "0", description = "The statement counts in units of 10^-N.")
    int minorUnits;

    @Option(names = "--covers", paramLabel = "FROM..TO", description = "It has everything of this time: what is missing there can be written off.")
    @Nullable String covers;

    @Option(names = "--missing", defaultValue = "none", paramLabel = "none|resend|fail", description = "What becomes of a run whose effect is missing (none).")
    String missing = "";

    @Option(names = "--apply", description = "Decides what the statement proves, one transaction each.")
    boolean apply;

    @Override
    public Integer call() {
        Path leaf = Path.of(file).getFileName();
        ObjectNode body = Json.NODES
                .objectNode()
                .put("name", leaf == null ? "statement" : leaf.toString())
                .put("destination", destination)
                .put("format", file.endsWith(".jsonl") || file.endsWith(".ndjson") ? "jsonl" : "csv")
                .put("content", new String(Input.file(file), StandardCharsets.UTF_8))
                .put("amount_label", amountLabel)
                .put("amount_shift", -minorUnits)
                .put("missing_then", missing)
                .put("apply", apply);
        ObjectNode mapped = body.putObject("columns");
        columns.forEach(mapped::put);
        if (match.startsWith("label:") && match.length() > "label:".length()) {
            body.put("match_label", match.substring("label:".length()));
        } else if (!match.equals("key")) {
            throw new CliFailure(Exit.USAGE, "--match is key or label:NAME");
        }
        statuses.forEach(body.putArray("statuses")::add);
        if (covers != null) {
            String[] ends = covers.split("\\.\\.", -1);
            if (ends.length != 2) {
                throw new CliFailure(Exit.USAGE, "--covers is FROM..TO", "--covers 2026-01-01T00:00:00Z..2026-02-01T00:00:00Z");
            }
            body.putObject("covers").put("from", ends[0]).put("to", ends[1]);
        }
        JsonNode report = new ApiClient(connection).post("/api/v1/effects/import-statement", body);
        if (connection.json()) {
            terminal.json(report);
        } else {
            print(report);
        }
        return report.path("open").asInt() == 0 ? Exit.OK : Exit.UNRESOLVED;
    }

    private void print(JsonNode report) {
        List<List<String>> rows = new ArrayList<>();
        report.path("rows").forEach(row -> rows.add(List.of(
                text(row, "line"), text(row, "kind"), text(row, "key"), text(row, "provider_receipt_id"), text(row, "amount"),
                text(row, "ledger_amount"), text(row, "effect_id"), text(row, "action"), text(row, "why"))));
        terminal.table(List.of("LINE", "KIND", "KEY", "PROVIDER ID", "AMOUNT", "LEDGER", "EFFECT", "ACTION", "WHY"), rows);
        List<String> counts = new ArrayList<>();
        report.path("counts").properties().forEach(count -> {
            if (count.getValue().asInt() > 0) {
                counts.add(count.getValue().asString() + " " + count.getKey());
            }
        });
        terminal.line(report.path("lines").asString() + " lines: " + String.join(", ", counts));
        if (!report.path("applied").asBoolean()) {
            terminal.line("nothing was written; --apply decides what can be decided");
        }
    }
}

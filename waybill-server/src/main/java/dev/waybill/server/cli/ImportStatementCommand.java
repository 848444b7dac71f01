package dev.waybill.server.cli;

import static dev.waybill.server.cli.Terminal.text;

import dev.waybill.json.Json;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
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

/** {@code waybill effects import-statement FILE --dest D} */
@Command(
        name = "import-statement",
        mixinStandardHelpOptions = true,
        description = "Holds a provider's statement (CSV with a header, or JSON lines) against the receipts of its destination. Without "
                + "--apply it only says what it would do.")
final class ImportStatementCommand implements Callable<Integer> {
    private static final int SHORT_ID = 8;
    private final Terminal terminal;

    ImportStatementCommand(Cli.World world) {
        terminal = world.terminal();
    }

    @Mixin
    Connection connection = new Connection();

    @Parameters(paramLabel = "FILE", description = "The statement; - for standard input.")
    String file = "";

    @Option(names = "--dest", required = true, paramLabel = "D", description = "Beginning of the receipts' destination.")
    String destination = "";

    @Option(names = "--apply", description = "Decide what the statement proves.")
    boolean apply;

    @Option(names = "--match", defaultValue = "key", paramLabel = "key|provider-id|label:NAME", description = "What the reference is (key).")
    String match = "key";

    @Option(
            names = "--map", split = ",", paramLabel = "FIELD=COLUMN",
            description = "Columns of reference, amount, currency, transaction and at; by default they are called so.")
    Map<String, String> map = new LinkedHashMap<>();

    @Option(names = "--covers", paramLabel = "FROM/TO", description = "The statement holds everything of this time, e.g. 2026-01-31T00:00:00Z/2026-02-01T00:00:00Z.")
    @Nullable String covers;

    @Option(
            names = "--missing", paramLabel = "resend|fail|none",
            description = "Unknown ones that a covering statement lacks are abandoned; and then this.")
    @Nullable String missing;

    @Override
    public Integer call() {
        ObjectNode body = Json.NODES.objectNode().put("destination", destination).put("match", match).put("apply", apply);
        body.put("text", statement());
        ObjectNode columns = body.putObject("map");
        map.forEach((field, column) -> columns.put(field, column == null ? "" : column));
        if (covers != null) {
            String[] times = covers.split("/", -1);
            if (times.length != 2) {
                throw new CliFailure(Exit.USAGE, "--covers is FROM/TO, two times");
            }
            body.putObject("covers").put("from", times[0]).put("to", times[1]);
        }
        if (missing != null) {
            body.put("missing", missing);
        }
        JsonNode report = new ApiClient(connection).post("/api/v1/effects/statement", body);
        if (connection.json()) {
            terminal.json(report);
        } else {
            show(report);
        }
        return Exit.OK;
    }

    private String statement() {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(Input.file(file))).toString();
        } catch (CharacterCodingException e) {
            throw new CliFailure(Exit.USAGE, file + " is not UTF-8 text", "convert it first, e.g. iconv -f windows-1252 -t utf-8");
        }
    }

    private void show(JsonNode report) {
        List<List<String>> rows = new ArrayList<>();
        for (JsonNode item : report.path("items")) {
            JsonNode line = item.path("line");
            JsonNode effect = item.path("effect");
            String id = text(effect, "effect_id");
            String done = text(item, "action").equals("none") ? "" : item.path("done").asBoolean(false)
                    ? "done: " + text(item, "action")
                    : (report.path("applied").asBoolean(false) ? (text(item, "code").isEmpty() ? "proposed" : "refused: " + text(item, "code")) : "would " + text(item, "action"));
            rows.add(List.of(
                    text(line, "number"), text(item, "verdict"), text(line, "reference"), text(line, "transaction"),
                    (text(line, "amount") + " " + text(line, "currency")).strip(),
                    text(effect, "state").equals("unknown") ? id.substring(0, SHORT_ID) : id, done, text(item, "why")));
        }
        terminal.table(List.of("LINE", "VERDICT", "REFERENCE", "TRANSACTION", "AMOUNT", "EFFECT", "ACTION", "WHY"), rows);
        List<String> counts = new ArrayList<>();
        report.path("counts").properties().forEach(count -> {
            if (count.getValue().asInt(0) > 0 || count.getKey().equals("lines")) {
                counts.add(count.getValue().asString("") + " " + count.getKey().replace('_', ' '));
            }
        });
        terminal.line(String.join(", ", counts));
        if (!report.path("applied").asBoolean(false) && report.path("counts").path("to_do").asInt(0) > 0) {
            terminal.line("nothing was written: --apply");
        }
    }
}

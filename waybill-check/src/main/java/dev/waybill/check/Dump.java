package dev.waybill.check;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * What a store held at one moment, whatever store it was: JSON lines, each with its {@code table}; the first line is the header
 * {@code {"table": "dump", "at": .., "store": ..}}.
 */
final class Dump {
    static final List<String> TABLES = List.of(
            "receipts", "journal", "block_outputs", "instances", "effect_open", "evidence", "events", "nodes", "sequences", "dedup_keys",
            "claims");

    final Instant at;
    private final String store;
    private final Map<String, List<ObjectNode>> rows = new LinkedHashMap<>();

    final List<Rows.Receipt> receipts;
    final List<Rows.Move> journal;
    final List<Rows.BlockRow> blocks;
    final List<Rows.Run> runs;
    final List<Rows.Open> open;
    final List<Rows.Evidence> evidence;
    final List<Rows.Event> events;
    final List<Rows.Node> nodes;
    final List<Rows.Sequence> sequences;
    final List<Rows.DedupKey> dedupKeys;
    final List<Rows.Claim> claims;

    /**
     * @param lines header and rows
     * @throws IllegalArgumentException when a line is no row of a dump
     */
    Dump(List<? extends JsonNode> lines) {
        if (lines.isEmpty() || !lines.getFirst().path("table").asString("").equals("dump")) {
            throw new IllegalArgumentException("a dump begins with {\"table\": \"dump\", \"at\": ..}");
        }
        this.at = Instant.parse(lines.getFirst().path("at").asString());
        this.store = lines.getFirst().path("store").asString("");
        TABLES.forEach(table -> rows.put(table, new ArrayList<>()));
        for (JsonNode line : lines.subList(1, lines.size())) {
            List<ObjectNode> table = rows.get(line.path("table").asString(""));
            if (table == null || !(line instanceof ObjectNode row)) {
                throw new IllegalArgumentException("no row of a dump: " + line);
            }
            table.add(row);
        }
        this.receipts = Json.as(Rows.Receipt.class, raw("receipts"));
        this.journal = Json.as(Rows.Move.class, raw("journal"));
        this.blocks = Json.as(Rows.BlockRow.class, raw("block_outputs"));
        this.runs = Json.as(Rows.Run.class, raw("instances"));
        this.open = Json.as(Rows.Open.class, raw("effect_open"));
        this.evidence = Json.as(Rows.Evidence.class, raw("evidence"));
        this.events = Json.as(Rows.Event.class, raw("events"));
        this.nodes = Json.as(Rows.Node.class, raw("nodes"));
        this.sequences = Json.as(Rows.Sequence.class, raw("sequences"));
        this.dedupKeys = Json.as(Rows.DedupKey.class, raw("dedup_keys"));
        this.claims = Json.as(Rows.Claim.class, raw("claims"));
    }

    static Dump read(Path file) throws IOException {
        return new Dump(Json.lines(file));
    }

    /** The rows of a table, as they were written. */
    List<ObjectNode> raw(String table) {
        return rows.getOrDefault(table, List.of());
    }

    void write(Path file) throws IOException {
        try (Writer out = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
            ObjectNode header = Json.MAPPER.createObjectNode().put("table", "dump").put("at", at.toString()).put("store", store);
            out.write(header + "\n");
            for (List<ObjectNode> table : rows.values()) {
                for (ObjectNode row : table) {
                    out.write(row + "\n");
                }
            }
        }
    }
}

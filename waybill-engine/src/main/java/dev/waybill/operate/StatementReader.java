package dev.waybill.operate;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Statement.Format;
import dev.waybill.operate.Statement.Line;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Reads statements strictly: CSV (RFC 4180, with a header) and JSON lines. What cannot be read stops the import; nothing is guessed. */
final class StatementReader {
    static final int MAX_LINES = 20_000;
    static final Set<String> ROLES = Set.of("key", "id", "amount", "currency", "status");

    private final Statement.Request request;
    private final List<Line> lines = new ArrayList<>();

    private StatementReader(Statement.Request request) {
        this.request = request;
    }

    /** @throws WaybillException 400 STATEMENT_INVALID with the line */
    static List<Line> read(Statement.Request request) {
        for (String role : request.columns().keySet()) {
            if (!ROLES.contains(role)) {
                throw WaybillException.badRequest(
                        "STATEMENT_INVALID", "columns are mapped for key, id, amount, currency and status, not for " + role, "/columns");
            }
        }
        StatementReader reader = new StatementReader(request);
        String text = request.content().startsWith("\uFEFF") ? request.content().substring(1) : request.content();
        if (request.format() == Format.CSV) {
            reader.csv(text);
        } else {
            reader.jsonLines(text);
        }
        return reader.lines;
    }

    private void jsonLines(String text) {
        int number = 0;
        for (String raw : text.split("\n", -1)) {
            number++;
            if (raw.isBlank()) {
                continue;
            }
            JsonNode node;
            try {
                node = Json.parse(raw);
            } catch (WaybillException e) {
                throw invalid(number, "is not JSON: " + e.getMessage());
            }
            Map<String, String> fields = new HashMap<>();
            for (String role : ROLES) {
                JsonNode value = node.get(column(role));
                if (value != null && !value.isNull()) {
                    if (!value.isString() && !value.isNumber()) {
                        throw invalid(number, column(role) + " must be a text or a number");
                    }
                    fields.put(role, value.isNumber() ? value.decimalValue().toPlainString() : value.asString());
                }
            }
            add(number, raw.stripTrailing(), fields);
        }
    }

    private void csv(String text) {
        List<String> header = null;
        int number = 1;
        int at = 0;
        while (at < text.length()) {
            List<String> cells = new ArrayList<>();
            int end = record(text, at, number, cells);
            String raw = text.substring(at, end).stripTrailing();
            if (header == null) {
                header = header(cells);
            } else if (!raw.isEmpty()) {
                if (cells.size() != header.size()) {
                    throw invalid(number, "has " + cells.size() + " columns, the header " + header.size());
                }
                Map<String, String> fields = new HashMap<>();
                for (String role : ROLES) {
                    int column = header.indexOf(column(role));
                    if (column >= 0 && !cells.get(column).isBlank()) {
                        fields.put(role, cells.get(column).strip());
                    }
                }
                add(number, raw, fields);
            }
            number += (int) text.substring(at, end).chars().filter(c -> c == '\n').count();
            at = end;
        }
    }

    private List<String> header(List<String> cells) {
        List<String> header = cells.stream().map(String::strip).toList();
        if (header.stream().distinct().count() != header.size()) {
            throw invalid(1, "names a column twice");
        }
        for (String mapped : request.columns().values()) {
            if (!header.contains(mapped)) {
                throw invalid(1, "has no column " + mapped + "; it has " + String.join(", ", header));
            }
        }
        if (!header.contains(column("key")) && !header.contains(column("id"))) {
            throw invalid(1, "has neither a column " + column("key") + " nor " + column("id") + ": say which with columns (--map key=NAME,id=NAME)");
        }
        return header;
    }

    /** @return where the record ends, behind its line break */
    private static int record(String text, int from, int number, List<String> cells) {
        StringBuilder cell = new StringBuilder();
        boolean quoted = false;
        int i = from;
        for (; i < text.length(); i++) {
            char c = text.charAt(i);
            if (quoted) {
                if (c != '"') {
                    cell.append(c);
                } else if (i + 1 < text.length() && text.charAt(i + 1) == '"') {
                    cell.append('"');
                    i++;
                } else {
                    quoted = false;
                }
            } else if (c == '"' && cell.isEmpty()) {
                quoted = true;
            } else if (c == ',') {
                cells.add(cell.toString());
                cell.setLength(0);
            } else if (c == '\n') {
                i++;
                break;
            } else if (c != '\r') {
                cell.append(c);
            }
        }
        if (quoted) {
            throw invalid(number, "opens a quote that is never closed");
        }
        cells.add(cell.toString());
        return i;
    }

    private String column(String role) {
        return request.columns().getOrDefault(role, role);
    }

    private void add(int number, String raw, Map<String, String> fields) {
        if (lines.size() == MAX_LINES) {
            throw invalid(number, "is one too many: a statement has at most " + MAX_LINES + " lines; split it by time");
        }
        String key = fields.get("key");
        String id = fields.get("id");
        if (key == null && id == null) {
            throw invalid(number, "has neither a key nor an id");
        }
        lines.add(new Line(number, raw, key, id, amount(number, fields.get("amount")), fields.get("currency"), fields.get("status")));
    }

    private @Nullable BigDecimal amount(int number, @Nullable String text) {
        if (text == null) {
            return null;
        }
        return Amounts.exact(text)
                .map(amount -> amount.movePointRight(request.amountShift()))
                .orElseThrow(() -> invalid(number, "has an amount that is no plain number such as 1000.00: " + text.substring(0, Math.min(40, text.length()))));
    }

    private static WaybillException invalid(int number, String why) {
        return WaybillException.badRequest("STATEMENT_INVALID", "line " + number + " of the statement " + why, "/content");
    }
}

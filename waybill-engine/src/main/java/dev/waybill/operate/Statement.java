package dev.waybill.operate;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** What a provider says it did: the lines of its statement, read strictly. One line that cannot be read refuses the whole. */
public record Statement(List<Line> lines) {
    static final int MAX_LINES = 10_000;
    private static final int MAX_VALUE = 255;
    private static final int MAX_TEXT = 4_000;
    private static final Set<String> FIELDS = Set.of("reference", "amount", "currency", "transaction", "at");

    /**
     * One line.
     *
     * @param number      1 is the first line of the text, or the first of the given lines
     * @param reference   what we called it, or null
     * @param transaction what the provider calls it, or null
     * @param text        the line as it stands, for the evidence
     */
    public record Line(
            int number,
            @Nullable String reference,
            @Nullable String transaction,
            @Nullable Money money,
            @Nullable Instant at,
            String text) {}

    /**
     * CSV (RFC 4180) with a header line, separated by comma, semicolon or tab; or JSON objects, one a line.
     *
     * @param map column of {@code reference, amount, currency, transaction, at}; a field that is not named is looked for under its own
     *            name, and one with an empty name is left out
     * @throws WaybillException 422 STATEMENT_INVALID
     */
    public static Statement parse(String text, Map<String, String> map) {
        String plain = text.startsWith("\uFEFF") ? text.substring(1) : text;
        if (plain.stripLeading().startsWith("{")) {
            List<Raw> rows = new ArrayList<>();
            int number = 0;
            for (String line : plain.split("\\R", -1)) {
                number++;
                if (!line.isBlank()) {
                    rows.add(raw(number, json(line, number), "/text"));
                }
            }
            return read(rows, map);
        }
        return read(csv(plain), map);
    }

    /** @param lines JSON objects, by the same fields */
    public static Statement of(JsonNode lines, Map<String, String> map) {
        List<Raw> rows = new ArrayList<>();
        for (JsonNode line : lines) {
            rows.add(raw(rows.size() + 1, line, "/lines/" + rows.size()));
        }
        return read(rows, map);
    }

    private record Raw(int number, String pointer, Map<String, String> values, String text) {}

    private static JsonNode json(String line, int number) {
        try {
            return Json.parse(line);
        } catch (WaybillException e) {
            throw invalid("line " + number + " is not JSON: " + e.getMessage(), "/text");
        }
    }

    private static Raw raw(int number, JsonNode line, String pointer) {
        if (!line.isObject()) {
            throw invalid("line " + number + " is not a JSON object", pointer);
        }
        Map<String, String> values = new LinkedHashMap<>();
        line.properties().forEach(member -> {
            JsonNode value = member.getValue();
            if (!value.isNull()) {
                values.put(member.getKey(), value.isNumber() ? value.decimalValue().toPlainString() : value.asString(Json.write(value)));
            }
        });
        return new Raw(number, pointer, values, Json.write(line));
    }

    private static List<Raw> csv(String text) {
        List<Csv.Row> rows = Csv.parse(text);
        if (rows.isEmpty()) {
            throw invalid("the statement is empty: a header line is needed", "/text");
        }
        List<String> header = rows.getFirst().cells().stream().map(String::strip).toList();
        if (new HashSet<>(header).size() != header.size()) {
            throw invalid("the header names a column twice", "/text");
        }
        List<Raw> lines = new ArrayList<>();
        for (Csv.Row row : rows.subList(1, rows.size())) {
            if (row.cells().size() != header.size()) {
                throw invalid("line " + row.number() + " has " + row.cells().size() + " fields, the header " + header.size(), "/text");
            }
            Map<String, String> values = new LinkedHashMap<>();
            for (int i = 0; i < header.size(); i++) {
                values.put(header.get(i), row.cells().get(i));
            }
            lines.add(new Raw(row.number(), "/text", values, row.text()));
        }
        return lines;
    }

    private static Statement read(List<Raw> rows, Map<String, String> map) {
        if (rows.size() > MAX_LINES) {
            throw invalid("a statement has at most " + MAX_LINES + " lines; split this one of " + rows.size(), rows.getFirst().pointer());
        }
        for (Map.Entry<String, String> mapped : map.entrySet()) {
            String column = mapped.getValue();
            if (!FIELDS.contains(mapped.getKey())) {
                throw invalid("there is no field " + mapped.getKey(), "/map/" + mapped.getKey());
            }
            if (!column.isEmpty() && !rows.isEmpty() && rows.stream().noneMatch(row -> row.values().containsKey(column))) {
                throw invalid("no line has the column " + column, "/map/" + mapped.getKey());
            }
        }
        List<Line> lines = new ArrayList<>();
        for (Raw row : rows) {
            String amount = value(row, map, "amount");
            String at = value(row, map, "at");
            Money money = null;
            if (amount != null) {
                money = Money.parse(amount, value(row, map, "currency"))
                        .orElseThrow(() -> refused(row, "amount", "is not an exact decimal such as 12.50"));
            }
            lines.add(new Line(
                    row.number(), value(row, map, "reference"), value(row, map, "transaction"), money, at == null ? null : time(row, at),
                    cut(row.text())));
        }
        return new Statement(List.copyOf(lines));
    }

    private static @Nullable String value(Raw row, Map<String, String> map, String field) {
        String value = row.values().get(map.getOrDefault(field, field));
        if (value == null || value.isBlank()) {
            return null;
        }
        String stripped = value.strip();
        if (stripped.length() > MAX_VALUE || stripped.chars().anyMatch(Character::isISOControl) || Json.hasLoneSurrogate(stripped)) {
            throw refused(row, field, "is longer than " + MAX_VALUE + " characters or holds control characters");
        }
        return stripped;
    }

    private static Instant time(Raw row, String text) {
        try {
            return text.length() == 10 ? LocalDate.parse(text).atStartOfDay(ZoneOffset.UTC).toInstant() : OffsetDateTime.parse(text).toInstant();
        } catch (DateTimeException e) {
            throw refused(row, "at", "is neither 2026-01-31 nor 2026-01-31T12:00:00Z; map at to another column, or to nothing");
        }
    }

    private static WaybillException refused(Raw row, String field, String why) {
        return invalid(
                "line " + row.number() + ": " + field + " " + why, row.pointer().equals("/text") ? "/text" : row.pointer() + "/" + field);
    }

    private static String cut(String text) {
        String plain = text.replaceAll("\\p{Cntrl}", " ").strip();
        return plain.length() > MAX_TEXT ? plain.substring(0, MAX_TEXT) + ".." : plain;
    }

    static WaybillException invalid(String why, String pointer) {
        return new WaybillException(422, "STATEMENT_INVALID", why, pointer, "waybill effects import-statement --help");
    }
}

package dev.waybill.operate;

import java.util.ArrayList;
import java.util.List;

/** Comma-separated values after RFC 4180; the header decides between comma, semicolon and tab. Blank lines are passed over. */
final class Csv {
    /** @param number of the text's line where it begins, from 1 */
    record Row(int number, List<String> cells, String text) {}

    private final String text;
    private final char separator;
    private int at;
    private int line = 1;

    private Csv(String text) {
        this.text = text;
        String header = text.lines().filter(it -> !it.isBlank()).findFirst().orElse("");
        separator = List.of(',', ';', '\t').stream()
                .max((a, b) -> Long.compare(count(header, a), count(header, b)))
                .orElse(',');
    }

    private static long count(String text, char wanted) {
        return text.chars().filter(c -> c == wanted).count();
    }

    static List<Row> parse(String text) {
        Csv csv = new Csv(text);
        List<Row> rows = new ArrayList<>();
        while (csv.at < text.length()) {
            int number = csv.line;
            int begin = csv.at;
            List<String> cells = csv.row();
            String raw = text.substring(begin, csv.at).strip();
            if (!raw.isEmpty()) {
                rows.add(new Row(number, cells, raw));
            }
        }
        return rows;
    }

    private List<String> row() {
        List<String> cells = new ArrayList<>();
        while (true) {
            cells.add(at < text.length() && text.charAt(at) == '"' ? quoted() : plain());
            if (at >= text.length()) {
                return cells;
            }
            char end = text.charAt(at++);
            if (end == separator) {
                continue;
            }
            if (end == '\r' && at < text.length() && text.charAt(at) == '\n') {
                at++;
            } else if (end != '\n' && end != '\r') {
                throw Statement.invalid("line " + line + ": text follows a closing quote", "/text");
            }
            line++;
            return cells;
        }
    }

    private String plain() {
        int begin = at;
        while (at < text.length() && text.charAt(at) != separator && text.charAt(at) != '\n' && text.charAt(at) != '\r') {
            at++;
        }
        return text.substring(begin, at);
    }

    private String quoted() {
        int begin = line;
        StringBuilder cell = new StringBuilder();
        for (at++; at < text.length(); at++) {
            char c = text.charAt(at);
            if (c == '"') {
                if (at + 1 >= text.length() || text.charAt(at + 1) != '"') {
                    at++;
                    return cell.toString();
                }
                at++;
            }
            line += c == '\n' ? 1 : 0;
            cell.append(c);
        }
        throw Statement.invalid("line " + begin + ": a quote is not closed", "/text");
    }
}

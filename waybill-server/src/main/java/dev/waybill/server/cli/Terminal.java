package dev.waybill.server.cli;

import dev.waybill.json.Json;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import tools.jackson.core.util.DefaultIndenter;
import tools.jackson.core.util.DefaultPrettyPrinter;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What people see: aligned tables, ages in words, colour only on a terminal and without {@code NO_COLOR}. */
public final class Terminal {
    private static final int MAX_CELL = 60;
    private static final JsonMapper PRETTY = JsonMapper.builder()
            .defaultPrettyPrinter(new DefaultPrettyPrinter().withArrayIndenter(DefaultIndenter.SYSTEM_LINEFEED_INSTANCE))
            .build();

    /** How a word is coloured. */
    enum Colour {
        PLAIN(""),
        DIM("2"),
        GREEN("32"),
        YELLOW("33"),
        RED("31");

        private final String code;

        Colour(String code) {
            this.code = code;
        }

        /** The colour of a state of a run or a receipt. */
        static Colour ofState(String state) {
            return switch (state) {
                case "completed", "committed", "verified", "ready" -> GREEN;
                case "unknown", "waiting", "paused", "dispatched", "prepared" -> YELLOW;
                case "failed", "not_ready" -> RED;
                case "cancelled", "abandoned", "not_applied", "compensated" -> DIM;
                default -> PLAIN;
            };
        }
    }

    private final PrintStream out;
    private final PrintStream err;
    private final boolean colour;

    private Terminal(PrintStream out, PrintStream err, boolean colour) {
        this.out = out;
        this.err = err;
        this.colour = colour;
    }

    public static Terminal of(PrintStream out, PrintStream err, boolean tty, Map<String, String> environment) {
        boolean colour = tty && environment.getOrDefault("NO_COLOR", "").isEmpty() && !"dumb".equals(environment.get("TERM"));
        return new Terminal(
                new PrintStream(out, true, StandardCharsets.UTF_8), new PrintStream(err, true, StandardCharsets.UTF_8), colour);
    }

    PrintStream out() {
        return out;
    }

    PrintStream err() {
        return err;
    }

    void line(String text) {
        out.println(text);
    }

    void json(JsonNode node) {
        out.println(PRETTY.writerWithDefaultPrettyPrinter().writeValueAsString(node));
    }

    /** What, why, and the next command. */
    void failure(CliFailure failure) {
        err.println(paint("error: ", Colour.RED) + clean(String.valueOf(failure.getMessage())));
        failure.next().forEach(next -> err.println("next:  " + clean(next)));
    }

    String paint(String text, Colour with) {
        return colour && !with.code.isEmpty() ? "\u001b[" + with.code + "m" + text + "\u001b[0m" : text;
    }

    String state(String state) {
        return paint(state, Colour.ofState(state));
    }

    /** Columns as wide as their widest cell; the last one runs free. The column named STATE is coloured. */
    void table(List<String> head, List<List<String>> rows) {
        int[] width = new int[head.size()];
        List<List<String>> all = new ArrayList<>();
        all.add(head);
        rows.forEach(row -> all.add(row.stream().map(Terminal::cell).toList()));
        for (List<String> row : all) {
            for (int i = 0; i < width.length; i++) {
                width[i] = Math.max(width[i], row.get(i).codePointCount(0, row.get(i).length()));
            }
        }
        for (List<String> row : all) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < width.length; i++) {
                String cell = row.get(i);
                Colour with = row == head ? Colour.DIM : head.get(i).equals("STATE") ? Colour.ofState(cell) : Colour.PLAIN;
                line.append(paint(cell, with));
                if (i < width.length - 1) {
                    line.append(" ".repeat(width[i] - cell.codePointCount(0, cell.length()) + 2));
                }
            }
            out.println(line.toString().stripTrailing());
        }
    }

    /** {@code name   value} lines; an empty value is left out. */
    void fields(List<Map.Entry<String, String>> fields) {
        int width = fields.stream().mapToInt(f -> f.getKey().length()).max().orElse(0);
        for (Map.Entry<String, String> field : fields) {
            if (!field.getValue().isEmpty()) {
                out.println("  " + paint(field.getKey(), Colour.DIM) + " ".repeat(width - field.getKey().length() + 2)
                        + clean(field.getValue()));
            }
        }
    }

    private static String cell(String text) {
        String clean = clean(text);
        return clean.length() > MAX_CELL ? clean.substring(0, MAX_CELL - 2) + ".." : clean;
    }

    /** What comes from a server may hold anything; a terminal obeys control characters. */
    static String clean(String text) {
        return text.replaceAll("\\p{Cntrl}", " ");
    }

    static String age(Instant since, Instant now) {
        return age(Math.max(0, Duration.between(since, now).toSeconds()));
    }

    static String age(long seconds) {
        if (seconds < 120) {
            return seconds + " s";
        }
        if (seconds < 2 * 3_600) {
            return seconds / 60 + " min";
        }
        return seconds < 2 * 86_400 ? seconds / 3_600 + " h" : seconds / 86_400 + " d";
    }

    /** The text of a field, empty when it is missing or null; what is not text is shown as JSON. */
    static String text(JsonNode json, String field) {
        JsonNode value = json.path(field);
        if (value.isMissingNode() || value.isNull()) {
            return "";
        }
        return value.isString() ? value.asString() : Json.write(value);
    }
}

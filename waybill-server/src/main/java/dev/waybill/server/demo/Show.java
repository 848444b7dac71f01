package dev.waybill.server.demo;

import dev.waybill.json.Json;
import dev.waybill.server.demo.Stage.Tone;
import java.util.Locale;
import tools.jackson.databind.node.ArrayNode;

/** Tells the story as it happens, and keeps it for the document. */
final class Show {
    private static final String INDENT = "        ";

    private final Stage stage;
    private final long startNanos = System.nanoTime();
    private final ArrayNode timeline = Json.NODES.arrayNode();

    Show(Stage stage) {
        this.stage = stage;
    }

    /** Something happened just now. */
    void step(String text) {
        double seconds = seconds();
        keep(seconds, text);
        stage.line(String.format(Locale.ROOT, "%5.1fs  %s", seconds, text));
    }

    /** Belongs to the step before. */
    void note(String text) {
        keep(seconds(), text);
        stage.line(INDENT + text);
    }

    void plain(String text) {
        stage.line(text);
    }

    void gap() {
        stage.line("");
    }

    String good(String text) {
        return stage.paint(text, Tone.GOOD);
    }

    String warn(String text) {
        return stage.paint(text, Tone.WARN);
    }

    /** A receipt's state. */
    String state(String state) {
        return switch (state) {
            case "committed", "verified" -> good(state);
            case "unknown" -> warn(state);
            default -> state;
        };
    }

    String bad(String text) {
        return stage.paint(text, Tone.BAD);
    }

    String dim(String text) {
        return stage.paint(text, Tone.DIM);
    }

    double seconds() {
        return Math.round((System.nanoTime() - startNanos) / 1e7) / 100.0;
    }

    ArrayNode timeline() {
        return timeline;
    }

    private void keep(double seconds, String text) {
        timeline.addObject().put("seconds", seconds).put("text", text);
    }
}

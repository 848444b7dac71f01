package dev.waybill.server.demo;

import tools.jackson.databind.JsonNode;

/** What the demo takes from the command line it runs under. */
public interface Stage {
    /** How a piece of text is meant. */
    enum Tone {
        DIM,
        GOOD,
        WARN,
        BAD
    }

    /** The client the commands use. A refusal or an unreachable server is a {@link RuntimeException} that says what and why. */
    interface Api {
        JsonNode get(String path);

        JsonNode post(String path, JsonNode body);

        JsonNode postWithKey(String path, JsonNode body, String key);
    }

    /** One line of the story, at once. */
    void line(String text);

    /** Something that must be said even when the story is not told. */
    void warn(String text);

    /** The text itself where there is no colour. */
    String paint(String text, Tone tone);

    /** @param server its base URL */
    Api api(String server);
}

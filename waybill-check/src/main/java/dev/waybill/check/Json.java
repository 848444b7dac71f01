package dev.waybill.check;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.MissingNode;

/** JSON and JSON lines as the inputs have them. */
final class Json {
    /** Exact numbers; members that no property looks at are none of our business. */
    static final JsonMapper MAPPER = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .build();

    private Json() {}

    /** Missing for null and for what is not JSON. */
    static JsonNode parse(@Nullable String text) {
        try {
            return text == null ? MissingNode.getInstance() : MAPPER.readTree(text);
        } catch (JacksonException e) {
            return MissingNode.getInstance();
        }
    }

    /** Equal as JSON; numbers by their exact value. */
    static boolean same(JsonNode a, JsonNode b) {
        return a.equals((x, y) -> x.isNumber() && y.isNumber() ? x.decimalValue().compareTo(y.decimalValue()) : x.equals(y) ? 0 : 1, b);
    }

    /**
     * The lines of a file. A last line without an end was cut by a crash and is left out.
     *
     * @throws IllegalArgumentException when a whole line is not JSON
     */
    static List<JsonNode> lines(Path file) throws IOException {
        List<JsonNode> lines = new ArrayList<>();
        boolean whole = endsWithNewline(file);
        try (BufferedReader in = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            String line = in.readLine();
            for (int number = 1; line != null; number++) {
                String next = in.readLine();
                if (!line.isBlank() && (next != null || whole)) {
                    try {
                        lines.add(MAPPER.readTree(line));
                    } catch (JacksonException e) {
                        throw new IllegalArgumentException(file + " line " + number + " is not JSON: " + e.getOriginalMessage(), e);
                    }
                }
                line = next;
            }
        }
        return lines;
    }

    private static boolean endsWithNewline(Path file) throws IOException {
        try (var channel = java.nio.channels.FileChannel.open(file)) {
            if (channel.size() == 0) {
                return false;
            }
            var last = java.nio.ByteBuffer.allocate(1);
            channel.read(last, channel.size() - 1);
            return last.get(0) == '\n';
        }
    }

    static <T> List<T> as(Class<T> type, List<? extends JsonNode> lines) {
        return lines.stream().map(line -> MAPPER.treeToValue(line, type)).toList();
    }
}

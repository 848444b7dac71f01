package dev.waybill.json;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.WaybillException;
import dev.waybill.test.Choices;
import dev.waybill.test.Fuzz;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** JSON text in, tree, text out: against {@link JsonOracle}, which shares nothing with the code under test. */
class JsonFuzzTest {
    private static final Set<String> CODES =
            Set.of("DUPLICATE_MEMBER", "INVALID_UNICODE", "JSON_TOO_DEEP", "NUMBER_OUT_OF_RANGE", "MALFORMED_JSON");
    private static final List<String> DICTIONARY = List.of(
            "null", "true", "false", "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0000", "\\ud800", "\\udc00", "\\ud83d\\ude00", "\"a\":1,",
            "-", "0", "-0", "00", ".", "e", "E+", "1e10000", "1e10001", "1e-9999999999", "0.1", "\ufeff", "\u0000", "\u2028", "/*", "//", "'", "NaN",
            "Infinity", "+1", "0x1", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "{\"a\":{\"a\":{\"a\":{\"a\":", " ", "\t", "\r\n", "\u00a0", "\ud83d\ude00");
    private static final List<String> CORPUS = List.of(
            "{\"id\":\"a\",\"n\":1.50,\"l\":[1,-2e3,null,true],\"o\":{\"\":\"\\u00e9\\n\"}}",
            "[[[]],{},\"\",0,-0.0,1E+2,123456789012345678901234567890]",
            "\"\\ud83d\\ude00 \\\" \\\\ \\/ \\b\\f\\n\\r\\t\"",
            "  -12.5e-7 ");

    @Test
    void anyBytesAreReadOrRefusedAsTheOracleDoes() {
        Fuzz.check("json-read", 8_000, choices -> {
            byte[] bytes = choices.oneIn(3)
                    ? JsonOracle.render(choices, JsonOracle.value(choices, 3)).getBytes(StandardCharsets.UTF_8)
                    : choices.pick(CORPUS).getBytes(StandardCharsets.UTF_8);
            bytes = choices.mutate(bytes, DICTIONARY);
            Optional<Object> expected = utf8(bytes).flatMap(JsonOracle::read);
            JsonNode node;
            try {
                node = Json.parse(bytes);
            } catch (WaybillException e) {
                assertThat(expected).as("refused with %s: %s", e.getMessage(), shown(bytes)).isEmpty();
                assertThat(e.status()).isEqualTo(400);
                assertThat(CODES).contains(e.code());
                // Both go back to the caller as JSON.
                assertThat(Json.hasLoneSurrogate(e.getMessage() + e.pointer())).isFalse();
                assertThat(Json.tryParse(bytes)).isEmpty();
                return;
            }
            assertThat(expected).as("accepted: %s", shown(bytes)).isPresent();
            assertThat(Json.tryParse(bytes)).contains(node);
            same(node, expected.get());
        });
    }

    @Test
    void equalValuesAndOnlyThoseHaveEqualBytes() {
        Fuzz.check("json-canonical", 4_000, choices -> {
            Object value = JsonOracle.value(choices, 4);
            JsonNode one = Json.parse(JsonOracle.render(choices, value));
            JsonNode two = Json.parse(JsonOracle.render(choices, value).getBytes(StandardCharsets.UTF_8));
            byte[] canonical = CanonicalJson.canonical(one);
            assertThat(CanonicalJson.canonical(two)).isEqualTo(canonical);
            assertThat(CanonicalJson.sha256Hex(two)).isEqualTo(CanonicalJson.sha256Hex(one));
            same(one, value);
            Object other = changed(choices, value);
            boolean equal = Arrays.equals(canonical, CanonicalJson.canonical(Json.parse(JsonOracle.render(choices, other))));
            assertThat(equal).as("%s and %s", value, other).isEqualTo(value.equals(other));
        });
    }

    @Test
    void dataSurvivesTheWayThroughFrozenParams() {
        List<String> marks = List.of("$secret_text", "$$secret_text", "secret", "masked", "$secret_textual", "$", "x");
        Fuzz.check("json-secret-text", 4_000, choices -> {
            JsonNode data = Json.parse(JsonOracle.render(choices, marked(choices, marks, 4)));
            JsonNode frozen = SecretText.escape(data);
            assertThat(SecretText.hasSecrets(frozen)).isFalse();
            assertThat(SecretText.names(frozen)).isEmpty();
            assertThat(SecretText.masked(frozen)).isEqualTo(data);
            assertThat(SecretText.reveal(frozen, "t", (_, _) -> Optional.of("leaked"))).isEqualTo(data);
            assertThat(SecretText.masked(Json.parse(Json.write(frozen)))).isEqualTo(data);
        });
    }

    private static void same(JsonNode node, Object value) {
        byte[] canonical = CanonicalJson.canonical(node);
        assertThat(JsonOracle.read(new String(canonical, StandardCharsets.UTF_8))).as("the value of the canonical form").contains(value);
        assertThat(CanonicalJson.canonical(Json.parse(canonical))).as("canonical of canonical").isEqualTo(canonical);
        String text = Json.write(node);
        assertThat(JsonOracle.read(text)).as("the value of the written form").contains(value);
        assertThat(Json.parse(text)).as("written and read").isEqualTo(node);
        assertThat(Json.writeBytes(node)).isEqualTo(text.getBytes(StandardCharsets.UTF_8));
    }

    /** The same value with one part of it different, or not. */
    private static Object changed(Choices choices, Object value) {
        if (value instanceof List<?> list && !list.isEmpty() && !choices.oneIn(4)) {
            List<Object> copy = new ArrayList<>(list);
            int at = choices.below(copy.size());
            copy.set(at, changed(choices, copy.get(at)));
            return copy;
        }
        if (value instanceof Map<?, ?> map && !map.isEmpty() && !choices.oneIn(4)) {
            Map<Object, Object> copy = new TreeMap<>(map);
            Object name = choices.pick(List.copyOf(copy.keySet()));
            copy.put(name, changed(choices, copy.get(name)));
            return copy;
        }
        if (value instanceof java.math.BigDecimal number) {
            return java.math.BigDecimal.ZERO.add(number.add(number.ulp())).stripTrailingZeros();
        }
        return value instanceof String text ? text + choices.text(1, false) : JsonOracle.value(choices, 1);
    }

    private static Object marked(Choices choices, List<String> names, int depth) {
        if (depth == 0 || choices.oneIn(4)) {
            return choices.oneIn(2) ? choices.pick(names) : JsonOracle.value(choices, 0);
        }
        if (choices.oneIn(3)) {
            return List.of(marked(choices, names, depth - 1), marked(choices, names, depth - 1));
        }
        Map<String, Object> members = new TreeMap<>();
        for (int left = choices.below(3); left > 0; left--) {
            members.put(choices.pick(names), marked(choices, names, depth - 1));
        }
        return members;
    }

    private static Optional<String> utf8(byte[] bytes) {
        try {
            return Optional.of(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }

    private static String shown(byte[] bytes) {
        return bytes.length > 2_000 ? bytes.length + " bytes" : new String(bytes, StandardCharsets.ISO_8859_1);
    }
}

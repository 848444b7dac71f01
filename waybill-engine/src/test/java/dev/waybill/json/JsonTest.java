package dev.waybill.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.model.WaybillException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

class JsonTest {
    private static WaybillException refusal(String text) {
        try {
            throw new AssertionError("accepted as " + Json.parse(text));
        } catch (WaybillException e) {
            assertThat(e.status()).isEqualTo(400);
            return e;
        }
    }

    /** The best of a few tries: the case bounds our work, not the load of the machine. */
    private static Duration fastest(String text) {
        Duration best = Duration.ofDays(1);
        for (int i = 0; i < 5; i++) {
            long start = System.nanoTime();
            refusal(text);
            Duration taken = Duration.ofNanos(System.nanoTime() - start);
            best = taken.compareTo(best) < 0 ? taken : best;
        }
        return best;
    }

    @Test
    void aDuplicateMemberIsRefusedAtItsPlace() {
        WaybillException e = refusal("{\"order\":{\"id\":1},\"order\":{\"id\":2}}");
        assertThat(e.code()).isEqualTo("DUPLICATE_MEMBER");
        assertThat(e.pointer()).isEqualTo("/order");
        assertThat(refusal("[0,{\"a\":{\"b/c\":1,\"b/c\":1}}]").pointer()).isEqualTo("/1/a/b~1c");
    }

    @Test
    void anEscapedSpellingDoesNotHideADuplicate() {
        assertThat(refusal("{\"id\":1,\"\\u0069d\":2}").code()).isEqualTo("DUPLICATE_MEMBER");
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{\"id\":\"A\\ud800\"}", "{\"id\":\"A\\udc00\"}", "{\"\\udc00\":1}", "[\"\\ud800\\ud800\\udc00\"]", "\"\\udc00\\ud800\""
    })
    void halfASurrogatePairIsRefusedInStringsAndNames(String text) {
        WaybillException e = refusal(text);
        assertThat(e.code()).isEqualTo("INVALID_UNICODE");
        assertThat(Json.hasLoneSurrogate(e.getMessage() + e.pointer())).isFalse();
    }

    @Test
    void anEscapedPairAndItsRawUtf8AreOneText() {
        JsonNode escaped = Json.parse("{\"id\":\"A\\ud83d\\ude00\"}".getBytes(StandardCharsets.UTF_8));
        JsonNode raw = Json.parse("{\"id\":\"A😀\"}".getBytes(StandardCharsets.UTF_8));
        assertThat(escaped).isEqualTo(raw);
        assertThat(CanonicalJson.sha256Hex(escaped)).isEqualTo(CanonicalJson.sha256Hex(raw));
    }

    @Test
    void malformedUtf8IsRefusedAlsoWhenItSpellsSurrogatesOrOverlongForms() {
        for (byte[] inside : new byte[][] {
            {(byte) 0xed, (byte) 0xa0, (byte) 0x80}, // a surrogate
            {(byte) 0xed, (byte) 0xa0, (byte) 0xbd, (byte) 0xed, (byte) 0xb8, (byte) 0x80}, // CESU-8
            {(byte) 0xc0, (byte) 0x80}, // overlong NUL
            {(byte) 0xff},
            {(byte) 0xe2, (byte) 0x82}
        }) {
            byte[] text = new byte[inside.length + 2];
            text[0] = '"';
            System.arraycopy(inside, 0, text, 1, inside.length);
            text[text.length - 1] = '"';
            assertThatThrownBy(() -> Json.parse(text))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("INVALID_UNICODE"));
            assertThat(Json.tryParse(text)).isEmpty();
        }
    }

    @Test
    @Timeout(5)
    void twentyThousandNestedArraysAreRefusedAtOnce() {
        String text = "[".repeat(20_000) + "]".repeat(20_000);
        assertThat(refusal(text).code()).isEqualTo("JSON_TOO_DEEP");
        assertThat(fastest(text)).isLessThan(Duration.ofMillis(200));
        assertThat(Json.tryParse(text.getBytes(StandardCharsets.UTF_8), 100_000)).isEmpty();
    }

    @Test
    void sixtyFourLevelsAreAllowedAndSixtyFiveAreNot() {
        assertThat(Json.parse("[".repeat(64) + "]".repeat(64)).isArray()).isTrue();
        assertThat(refusal("{\"a\":".repeat(65) + "1" + "}".repeat(65)).code()).isEqualTo("JSON_TOO_DEEP");
        byte[] deep = ("[".repeat(200) + "]".repeat(200)).getBytes(StandardCharsets.UTF_8);
        assertThat(Json.tryParse(deep, 200)).isPresent();
        assertThat(Json.tryParse(deep, 199)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"1e131072", "1e1000000000", "1E+99999999999999999999", "1e-10001", "-0.1e10001"})
    void anAbsurdExponentIsRefusedWithoutBuildingTheNumber(String number) {
        WaybillException e = refusal("{\"a\":" + number + "}");
        assertThat(fastest("{\"a\":" + number + "}")).isLessThan(Duration.ofMillis(100));
        assertThat(e.code()).isEqualTo("NUMBER_OUT_OF_RANGE");
        assertThat(e.pointer()).isEqualTo("/a");
    }

    @Test
    void aThousandDigitsAreAllowedAndOneMoreIsNot() {
        String digits = "7".repeat(1000);
        assertThat(Json.write(Json.parse(digits))).isEqualTo(digits);
        assertThat(Json.write(Json.parse("-" + digits))).isEqualTo("-" + digits);
        assertThat(refusal(digits + "7").code()).isEqualTo("NUMBER_OUT_OF_RANGE");
        assertThat(refusal("0." + digits).code()).isEqualTo("NUMBER_OUT_OF_RANGE");
        assertThat(Json.parse("1e10000").decimalValue().precision()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "9007199254740993", "12345678901234567890123", "0.1000000000000000055", "1.50", "1.0", "-7", "2147483648", "9223372036854775808"
    })
    void numbersKeepTheirDigits(String number) {
        assertThat(Json.write(Json.parse("[" + number + "]"))).isEqualTo("[" + number + "]");
    }

    @Test
    void zeroBytesAreTextAndStayDistinctFromTheirLookAlikes() {
        JsonNode zero = Json.parse("{\"n\":\"a\\u0000b\"}");
        assertThat(zero.get("n").stringValue()).isEqualTo("a\0b");
        assertThat(Json.write(zero)).doesNotContain("\0").isEqualTo("{\"n\":\"a\\u0000b\"}");
        JsonNode plain = Json.parse("{\"n\":\"ab\"}");
        JsonNode spelled = Json.parse("{\"n\":\"a\\\\u0000b\"}");
        assertThat(spelled.get("n").stringValue()).hasSize(8).isEqualTo("a\\u0000b");
        assertThat(CanonicalJson.sha256Hex(zero)).isNotIn(CanonicalJson.sha256Hex(plain), CanonicalJson.sha256Hex(spelled));
        assertThat(Json.parse(Json.write(spelled))).isEqualTo(spelled);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "", "  ", "{", "[1,]", "{\"a\":}", "{\"a\" 1}", "01", "+1", ".5", "1.", "NaN", "Infinity", "'a'", "tru", "\"\t\"", "\"\\x\"", "{a:1}",
        "/**/1", "1 2", "{} x", "\uFEFF1", "]", "[1}", "\"abc"
    })
    void whateverElseIsNotJsonIsMalformedWithAPlace(String text) {
        WaybillException e = refusal(text);
        assertThat(e.code()).isEqualTo("MALFORMED_JSON");
        assertThat(e.getMessage()).matches("(?s).*\\(line \\d+, column \\d+\\)");
        assertThat(Json.tryParse(text.getBytes(StandardCharsets.UTF_8))).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"'{\"a\":\n  nope}',2", "'[1,\n2,\n]',3"})
    void theLineOfTheFaultIsNamed(String text, int line) {
        assertThat(refusal(text).getMessage()).contains("line " + line + ",");
    }

    @Test
    void everyControlCharacterIsEscapedOnTheWayOutAndComesBack() {
        StringBuilder all = new StringBuilder();
        for (char c = 0; c < 0x20; c++) {
            all.append(c);
        }
        String text = Json.write(Json.NODES.stringNode(all.toString()));
        assertThat(text.chars()).allMatch(c -> c >= 0x20);
        assertThat(Json.parse(text).stringValue()).isEqualTo(all.toString());
    }

    @Test
    void parseAfterPrintIsIdentity() {
        long seed = 20261130;
        System.out.println("JsonTest seed " + seed);
        JsonGenerator generator = new JsonGenerator(new Random(seed));
        for (int i = 0; i < 3_000; i++) {
            JsonNode node = generator.node(4);
            assertThat(Json.parse(Json.write(node))).isEqualTo(node);
            assertThat(Json.parse(Json.writeBytes(node))).isEqualTo(node);
        }
    }

    @Test
    void aNumberThatIsWrittenAsAnIntegerIsReadAsOne() {
        for (String number : new String[] {"5e0", "-499E0", "1.5e1", "0e0", "12345678901234567890.0e1"}) {
            JsonNode node = Json.parse(number);
            assertThat(Json.parse(Json.write(node))).as(number).isEqualTo(node);
            assertThat(node.isIntegralNumber()).as(number).isTrue();
        }
    }

    @Test
    void whatWouldBeWrittenBeyondTheBoundsIsRefused() {
        for (String number : new String[] {"11e10000", "0.01e-10000", "0.0e-10000", "1." + "1".repeat(999) + "e-6"}) {
            assertThat(org.assertj.core.api.Assertions.catchThrowableOfType(WaybillException.class, () -> Json.parse(number)).code())
                    .as(number)
                    .isEqualTo("NUMBER_OUT_OF_RANGE");
        }
        for (String number : new String[] {"1e10000", "0.1e-9999", "0e-10000", "1." + "1".repeat(999) + "e-7", "1" + "1".repeat(999)}) {
            JsonNode node = Json.parse(number);
            assertThat(Json.parse(Json.write(node))).as(number).isEqualTo(node);
            assertThat(Json.parse(CanonicalJson.canonical(node)).decimalValue()).as(number).isEqualByComparingTo(node.decimalValue());
        }
    }
}

package dev.waybill.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.model.WaybillException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.erdtman.jcs.JsonCanonicalizer;
import org.erdtman.jcs.NumberToJSON;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

class CanonicalJsonTest {
    private static String canonical(String text) {
        return new String(CanonicalJson.canonical(Json.parse(text)), StandardCharsets.UTF_8);
    }

    @Test
    void formsOfOneNumberAreOneValue() {
        assertThat(Stream.of("1", "1.0", "1e0", "10e-1", "0.1E+1").map(CanonicalJsonTest::canonical)).containsOnly("1");
        assertThat(Stream.of("0", "-0", "0.0", "-0e10", "0e-10000").map(CanonicalJsonTest::canonical)).containsOnly("0");
    }

    @Test
    void neighboursThatADoubleWouldMergeStayTwo() {
        assertThat(canonical("9007199254740993")).isEqualTo("9007199254740993");
        assertThat(canonical("9007199254740992")).isEqualTo("9007199254740992");
        assertThat(canonical("0.1")).isEqualTo("0.1").isNotEqualTo(canonical("0.1000000000000000055"));
        assertThat(canonical("1")).isNotEqualTo(canonical("\"1\""));
        assertThat(canonical("1e400")).isNotEqualTo(canonical("1e401")).doesNotContain("Infinity");
        assertThat(canonical("12345678901234567890123")).isEqualTo("12345678901234567890123");
    }

    @ParameterizedTest
    @CsvSource({
        "1e21,1e+21", "1e20,100000000000000000000", "0.000001,0.000001", "0.0000001,1e-7", "5e-324,5e-324", "1.7976931348623157e308,1.7976931348623157e+308",
        "-1.50,-1.5", "1e23,1e+23", "333333333.33333329,333333333.3333333", "4.50,4.5", "2e-3,0.002", "123e-20,1.23e-18"
    })
    void doublesArePrintedAsRfc8785PrintsThem(String number, String expected) throws Exception {
        // RFC 8785 rounds the last digit of 333333333.33333329; we must not, because it is another number.
        if (number.equals("333333333.33333329")) {
            assertThat(canonical(number)).isEqualTo(number);
        } else {
            assertThat(canonical(number)).isEqualTo(expected).isEqualTo(NumberToJSON.serializeNumber(Double.parseDouble(number)));
        }
    }

    @Test
    void theSmallestDoubleAndItsLongerSpellingAreTwoValues() {
        assertThat(canonical("4.9e-324")).isNotEqualTo(canonical("5e-324"));
        assertThat(new BigDecimal(canonical("4.9e-324"))).isEqualByComparingTo(new BigDecimal("4.9e-324"));
    }

    @Test
    void membersAreSortedByUtf16CodeUnits() {
        String expected = "{\"a\":3,\"\uD83D\uDE00\":2,\"\uFB33\":1}";
        assertThat(canonical("{\"\\ufb33\":1,\"\\ud83d\\ude00\":2,\"a\":3}")).isEqualTo(expected);
        assertThat(canonical("{\"a\":3,\"\\ufb33\":1,\"\uD83D\uDE00\":2}")).isEqualTo(expected);
    }

    @Test
    void visualTwinsStayTwo() {
        assertThat(canonical("\"caf\u00e9\"")).isNotEqualTo(canonical("\"cafe\u0301\""));
    }

    @Test
    void aLoneSurrogateIsRefusedInsteadOfBecomingAQuestionMark() {
        assertThatThrownBy(() -> CanonicalJson.canonical(Json.NODES.stringNode("A\ud800")))
                .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("INVALID_UNICODE"));
    }

    @Test
    void theDigestCoversThePrefixAndTheCanonicalBytes() throws Exception {
        JsonNode node = Json.parse("{\"b\":[1.0,null,true],\"a\":\"x\\n\"}");
        MessageDigest sha = MessageDigest.getInstance("SHA-256");
        sha.update("waybill-request-v1\0".getBytes(StandardCharsets.UTF_8));
        sha.update("{\"a\":\"x\\n\",\"b\":[1,null,true]}".getBytes(StandardCharsets.UTF_8));
        assertThat(CanonicalJson.sha256Hex(node)).isEqualTo(HexFormat.of().formatHex(sha.digest()));
        assertThat(CanonicalJson.sha256Hex("other\0", node)).isNotEqualTo(CanonicalJson.sha256Hex(node));
    }

    @Test
    void anArrayThatOutgrowsTheBufferIsWhole() {
        ArrayNode array = Json.NODES.arrayNode();
        for (int i = 0; i < 2_000; i++) {
            array.add("text \u00e9\u20ac\uD83D\uDE00 " + i);
        }
        assertThat(Json.parse(CanonicalJson.canonical(array))).isEqualTo(array);
    }

    @Test
    void whereADoubleIsLosslessTheBytesEqualRfc8785() throws Exception {
        long seed = 8785;
        System.out.println("CanonicalJsonTest seed " + seed);
        Random random = new Random(seed);
        for (int i = 0; i < 50_000; i++) {
            double value = Double.longBitsToDouble(random.nextLong());
            if (Double.isFinite(value)) {
                String expected = NumberToJSON.serializeNumber(value);
                assertThat(CanonicalJson.decimal(new BigDecimal(expected))).isEqualTo(expected);
            }
        }
        JsonGenerator generator = new JsonGenerator(random);
        for (int i = 0; i < 3_000; i++) {
            JsonNode tree = Json.NODES.arrayNode().add(lossless(generator.node(4)));
            assertThat(CanonicalJson.canonical(tree)).isEqualTo(new JsonCanonicalizer(Json.write(tree)).getEncodedUTF8());
        }
    }

    /** The same tree with every number replaced by one that a double holds. */
    private static JsonNode lossless(JsonNode node) {
        if (node.isNumber()) {
            double value = node.decimalValue().doubleValue();
            return Json.parse(Double.isFinite(value) ? new BigDecimal(canonicalDouble(value)).toString() : "1");
        }
        if (node.isArray()) {
            ArrayNode copy = Json.NODES.arrayNode();
            node.forEach(item -> copy.add(lossless(item)));
            return copy;
        }
        if (node.isObject()) {
            ObjectNode copy = Json.NODES.objectNode();
            node.properties().forEach(member -> copy.set(member.getKey(), lossless(member.getValue())));
            return copy;
        }
        return node;
    }

    private static String canonicalDouble(double value) {
        try {
            return NumberToJSON.serializeNumber(value);
        } catch (java.io.IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void orderOfMembersAndFormOfNumbersDoNotMatterAndDistinctValuesNeverCollide() {
        long seed = 42;
        System.out.println("CanonicalJsonTest seed " + seed);
        Random random = new Random(seed);
        JsonGenerator generator = new JsonGenerator(random);
        Map<String, JsonNode> byHash = new HashMap<>();
        for (int i = 0; i < 10_000; i++) {
            JsonNode node = generator.node(3);
            String canonical = new String(CanonicalJson.canonical(node), StandardCharsets.UTF_8);
            assertThat(new String(CanonicalJson.canonical(disguise(node, random)), StandardCharsets.UTF_8)).isEqualTo(canonical);
            // The canonical text denotes the very value: reading it back gives an equal one.
            assertThat(same(Json.parse(canonical), node)).as(canonical).isTrue();
            JsonNode other = byHash.putIfAbsent(CanonicalJson.sha256Hex(node), node);
            assertThat(other == null || same(other, node)).as("%s and %s", other, node).isTrue();
        }
    }

    private static JsonNode disguise(JsonNode node, Random random) {
        if (node.isNumber()) {
            BigDecimal value = node.decimalValue();
            return switch (random.nextInt(3)) {
                case 0 -> Json.NODES.numberNode(value.setScale(Math.max(value.scale(), 0) + 2));
                case 1 -> Json.NODES.numberNode(value.stripTrailingZeros());
                default -> node;
            };
        }
        if (node.isArray()) {
            ArrayNode copy = Json.NODES.arrayNode();
            node.forEach(item -> copy.add(disguise(item, random)));
            return copy;
        }
        if (node.isObject()) {
            List<String> names = new ArrayList<>(node.propertyNames());
            Collections.shuffle(names, random);
            ObjectNode copy = Json.NODES.objectNode();
            names.forEach(name -> copy.set(name, disguise(node.get(name), random)));
            return copy;
        }
        return node;
    }

    /** Equality of JSON values, written without the code under test. */
    private static boolean same(JsonNode a, JsonNode b) {
        if (a.isNumber() && b.isNumber()) {
            return a.decimalValue().compareTo(b.decimalValue()) == 0;
        }
        if (a.isArray() && b.isArray()) {
            return a.size() == b.size() && Stream.iterate(0, i -> i < a.size(), i -> i + 1).allMatch(i -> same(a.get(i), b.get(i)));
        }
        if (a.isObject() && b.isObject()) {
            return a.propertyStream().map(Map.Entry::getKey).collect(Collectors.toSet())
                            .equals(b.propertyStream().map(Map.Entry::getKey).collect(Collectors.toSet()))
                    && a.propertyStream().allMatch(member -> same(member.getValue(), b.get(member.getKey())));
        }
        return a.equals(b);
    }
}

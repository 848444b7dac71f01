package dev.waybill.definition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** The schema judges answers that have already been committed: whatever it says, judging comes to an end. */
@Timeout(60)
class SchemasTest {
    private static void comesToAnEnd(String schema, String value) {
        JsonNode compiled = Json.parse(schema);
        assertThat(Schemas.faults(compiled)).isEmpty();
        assertThat(Schemas.violations(compiled, Json.parse(value)))
                .singleElement()
                .satisfies(violation -> assertThat(violation.message()).contains("more work than is allowed"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"{'$ref':'#'}", "{'allOf':[{'$ref':'#'}]}", "{'$dynamicRef':'#x','$dynamicAnchor':'x'}"})
    void aSchemaThatRefersToItselfForEverComesToAnEnd(String schema) {
        comesToAnEnd(schema.replace('\'', '"'), "{}");
    }

    @Test
    void aSchemaThatDoublesAtEveryLevelComesToAnEnd() {
        String levels = IntStream.range(0, 40)
                .mapToObj(i -> "\"a%d\":{\"allOf\":[{\"$ref\":\"#/$defs/a%d\"},{\"$ref\":\"#/$defs/a%d\"}]}".formatted(i, i + 1, i + 1))
                .collect(Collectors.joining(","));
        comesToAnEnd("{\"$ref\":\"#/$defs/a0\",\"$defs\":{" + levels + ",\"a40\":{}}}", "1");
    }

    @Test
    void aPatternThatBacktracksComesToAnEnd() {
        comesToAnEnd("{\"pattern\":\"^(a|aa|aaa)+\\\\1?$\"}", "\"" + "a".repeat(80) + "!\"");
        comesToAnEnd("{\"patternProperties\":{\"^(a|aa|aaa)+\\\\1?$\":false}}", "{\"" + "a".repeat(80) + "!\":1}");
    }

    @Test
    void aPatternThatRepeatsAGroupOverALongTextComesToAnEnd() {
        comesToAnEnd("{\"pattern\":\"^(a|b)*$\"}", "\"" + "ab".repeat(50_000) + "\"");
    }

    @Test
    void anOrdinaryPatternMeansWhatItMeantBefore() {
        JsonNode schema = Json.parse("{\"items\":{\"pattern\":\"^\\\\p{Letter}+$\"}}");
        assertThat(Schemas.violations(schema, Json.parse("[\"abc\",\"\u00e9\"]"))).isEmpty();
        assertThat(Schemas.violations(schema, Json.parse("[\"abc\\n\",\"1\"]"))).extracting(Schemas.Violation::pointer).containsExactly("/0", "/1");
    }
}

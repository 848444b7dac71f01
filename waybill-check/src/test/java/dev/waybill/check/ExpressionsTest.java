package dev.waybill.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

class ExpressionsTest {
    private static final JsonNode DATA = Json.parse(Tale.json(
            "{'data': {'total': 250.50, 'country': 'SE', 'items': [1, 2], 'none': null, 'no': false, 'a-b': 1}, 'outputs': {'ask': {'body': {'left': 0}}}}"));

    private static JsonNode text(String text) {
        return Json.MAPPER.getNodeFactory().stringNode(text);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            quoteCharacter = '`',
            value = {
                "data.total > 100; true",
                "= data.total > 100; true",
                "data.total = 250.5; true",
                "data.total == 250.500 && data.country = 'SE'; true",
                "data.total < 100 or data.country != \"NO\"; true",
                "outputs.ask.body.left = 0; true",
                "outputs.ask.body.left; false",
                "data.country; true",
                "data.no; false",
                "data.none; false",
                "data.none = null; true",
                // Where one side is not there, nothing is equal and nothing unequal.
                "data.missing = 1; false",
                "data.missing != 1; false",
                "data.missing; false",
                "(data.no or true) and 'a' < 'b'; true",
                "1 <= 1 and 2 >= 3; false",
                "-1 < 0; true"
            })
    void aConditionOfTheSubsetHoldsAsInJsonata(String condition, boolean holds) throws Expressions.Beyond {
        assertThat(Expressions.holds(text(condition), DATA::get)).isEqualTo(holds);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "$count(data.items) = 2", "data.items.x = 1", "data.items = data.items", "data.total & 'x'", "data.country < 1", "data.a-b = 1",
                "data.items[0] = 1", "nowhere.x", "data.total + 1 > 2", "'it''s", "data.total >", "(data.total", "data.items"
            })
    void whatIsNotCertainIsLeftToTheRecord(String condition) {
        assertThatThrownBy(() -> Expressions.holds(text(condition), DATA::get)).isInstanceOf(Expressions.Beyond.class);
    }

    @Test
    void aValueIsAConstantAnExpressionOrOneTemplate() throws Expressions.Beyond {
        assertThat(Expressions.value(Json.parse("[1,2]"), DATA::get)).isEqualTo(Json.parse("[1,2]"));
        assertThat(Expressions.value(text("{{ data.items }}"), DATA::get)).isEqualTo(Json.parse("[1,2]"));
        assertThat(Expressions.value(text("= data.items"), DATA::get)).isEqualTo(Json.parse("[1,2]"));
        assertThat(Expressions.value(text("plain"), DATA::get).asString()).isEqualTo("plain");
        assertThatThrownBy(() -> Expressions.value(text("{{ data.a }}{{ data.b }}"), DATA::get)).isInstanceOf(Expressions.Beyond.class);
        assertThatThrownBy(() -> Expressions.value(text("{{ data.a | 'x' }}"), DATA::get)).isInstanceOf(Expressions.Beyond.class);
    }
}

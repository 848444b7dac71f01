package dev.waybill.definition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.waybill.json.Json;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class KeysTest {
    private static String resolve(String key, String payload) throws EvaluationException {
        return Keys.resolve(Values.compile(Json.NODES.stringNode(key)), Scopes.of("{\"payload\":" + payload + "}"));
    }

    private static String failure(String key, String payload) {
        return catchThrowableOfType(EvaluationException.class, () -> resolve(key, payload)).problem().code();
    }

    @ParameterizedTest
    @CsvSource(delimiterString = "==>", quoteCharacter = '§', textBlock = """
        {"order":{}} ==> EXPRESSION_UNDEFINED
        {"order":{"id":null}} ==> EXPRESSION_UNDEFINED
        {"order":{"id":""}} ==> EXPRESSION_UNDEFINED
        {"order":{"id":"  "}} ==> EXPRESSION_UNDEFINED
        {"order":[{"id":1},{"id":2}]} ==> KEY_NOT_SCALAR
        {"order":{"id":[1]}} ==> KEY_NOT_SCALAR
        {"order":{"id":{"a":1}}} ==> KEY_NOT_SCALAR
        {"order":{"id":1.5}} ==> KEY_NOT_SCALAR
        {"order":{"id":1.0}} ==> KEY_NOT_SCALAR
        {} ==> EXPRESSION_UNDEFINED
        """)
    void aMissingPartNeverMakesOneKeyForEverybody(String payload, String code) {
        assertThat(failure("= 'charge-' & payload.order.id", payload)).isEqualTo(code);
        assertThat(failure("= $lowercase('charge-' & payload.order.id)", payload)).isEqualTo(code);
    }

    @Test
    void zeroBooleansAndBigIntegersAreKeys() throws Exception {
        assertThat(resolve("= 'charge-' & payload.order.id", "{\"order\":{\"id\":0}}")).isEqualTo("charge-0");
        assertThat(resolve("= 'charge-' & payload.order.id", "{\"order\":{\"id\":false}}")).isEqualTo("charge-false");
        assertThat(resolve("= 'charge-' & payload.order.id", "{\"order\":{\"id\":9007199254740993}}")).isEqualTo("charge-9007199254740993");
        assertThat(resolve("= payload.order.id", "{\"order\":{\"id\":7}}")).isEqualTo("7");
        assertThat(resolve("{{ payload.order.id }}", "{\"order\":{\"id\":true}}")).isEqualTo("true");
    }

    @ParameterizedTest
    @CsvSource(delimiterString = "==>", quoteCharacter = '§', textBlock = """
        = payload.order.id ==> {"order":{}} ==> EXPRESSION_UNDEFINED
        = payload.order.id ==> {"order":{"id":null}} ==> KEY_NOT_SCALAR
        = payload.order.id ==> {"order":{"id":" "}} ==> KEY_NOT_SCALAR
        = payload.order ==> {"order":{"id":1}} ==> KEY_NOT_SCALAR
        = payload.order.id ==> {"order":{"id":2.5}} ==> KEY_NOT_SCALAR
        {{ payload.order.id }} ==> {"order":{}} ==> KEY_NOT_SCALAR
        charge-{{ payload.order.id }} ==> {"order":{}} ==> EXPRESSION_UNDEFINED
        charge-{{ payload.order.id }} ==> {"order":{"id":""}} ==> EXPRESSION_UNDEFINED
        charge-{{ payload.order.id }} ==> {"order":{"id":[1]}} ==> KEY_NOT_SCALAR
        = $join(['charge', payload.order.id], '-') ==> {"order":{}} ==> EXPRESSION_UNDEFINED
        = 'a' & $string(payload.order.id) ==> {"order":{}} ==> EXPRESSION_UNDEFINED
        = 'a' & (payload.order.id ? payload.order.id) ==> {"order":{}} ==> EXPRESSION_UNDEFINED
        """)
    void theWholeMustBeAScalarToo(String key, String payload, String code) {
        assertThat(failure(key, payload)).isEqualTo(code);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "= 'charge-' & ($exists(payload.order.nr) ? payload.order.nr : payload.order.id)",
        "= 'charge-' & (payload.order.nr = 3 ? 'x' : payload.order.id)",
        "charge-{{ payload.order.nr | payload.order.id }}"
    })
    void anExplicitFallbackIsTheAuthorsChoice(String key) throws Exception {
        assertThat(resolve(key, "{\"order\":{\"id\":\"o1\"}}")).isEqualTo("charge-o1");
    }
}

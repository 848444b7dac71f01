package dev.waybill.definition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.waybill.json.Json;
import dev.waybill.json.SecretSource;
import dev.waybill.json.SecretText;
import dev.waybill.model.WaybillException;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

class TemplateTest {
    private static final Scope SCOPE = Scopes.of(
            """
            {"data":{"n":5,"big":12345678901234567890123,"d":1.50,"s":" Ada ","no":null,"t":true,"list":["a","b"],"o":{"k-1":{"x":1}},"e":"1e2",
                     "u":"a b/ü","neg":-2.5},
             "order":{"id":7}}
            """);

    private static JsonNode resolve(String template) throws EvaluationException {
        return Values.compile(Json.NODES.stringNode(template)).resolve(SCOPE);
    }

    @ParameterizedTest
    @CsvSource(delimiterString = "==>", quoteCharacter = '§', textBlock = """
        {{ data.n }} ==> 5
        {{data.big}} ==> 12345678901234567890123
        {{ data.d }} ==> 1.50
        {{ data.t }} ==> true
        {{ data.list }} ==> ["a","b"]
        {{ data.list.1 }} ==> "b"
        {{ data.list[1] }} ==> "b"
        {{ data.list.9 }} ==> null
        {{ data.o.k-1.x }} ==> 1
        {{ data.nope.x }} ==> null
        {{ data.no }} ==> null
        n={{ data.n }}, d={{ data.d }}, no={{ data.no }}, l={{ data.list }} ==> "n=5, d=1.50, no=, l=[\\"a\\",\\"b\\"]"
        {{ data.nope | data.n }} ==> 5
        {{ data.nope | data.no | none }} ==> "none"
        {{ data.nope | 'a | b' }} ==> "a | b"
        {{ data.nope | order.id }} ==> 7
        {{ data.nope | other.id }} ==> "other.id"
        {{ data.nope | 12 }} ==> 12
        {{ data.nope | it's }} ==> "it's"
        {{ data.s | trim | upper }} ==> "ADA"
        {{ data.nope | upper | x }} ==> "x"
        {{ data.no | default('z') | upper }} ==> "Z"
        {{ data.no | default:z }} ==> "z"
        {{ data.s | lower | trim | truncate(2) }} ==> "ad"
        {{ data.u | url_encode }} ==> "a%20b%2F%C3%BC"
        {{ data.u | base64 | base64_decode }} ==> "a b/ü"
        {{ data.u | replace('b', '{{ data.n }}') }} ==> "a {{ data.n }}/ü"
        {{ data.u | split(' ') }} ==> ["a","b/ü"]
        {{ data.list | join('; ') }} ==> "a; b"
        {{ data.neg | abs }} ==> 2.5
        {{ data.neg | abs | round }} ==> 3
        {{ data.d | round(1) }} ==> 1.5
        {{ data.n | hash }} ==> "ef2d127de37b942baad06145e54b0c619a1f22327b2ebbcfbec78f5564afe39d"
        {{ '{{' }} ==> "{{"
        {{ '= x' }} ==> "= x"
        no template ==> "no template"
        =x ==> "=x"
        """)
    void templatesKeepTypesAndFallBack(String template, String expected) throws Exception {
        assertThat(resolve(template)).isEqualTo(Json.parse(expected));
    }

    @Test
    void anUnknownRootFailsTheStep() {
        for (String template : new String[] {"{{ nope.x }}", "a {{ nope }} b", "{{ data.nope | payload.x }}"}) {
            assertThat(catchThrowableOfType(EvaluationException.class, () -> resolve(template)).problem().code()).isEqualTo("TEMPLATE_UNKNOWN_ROOT");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{{ data.x", "{{ }}", "{{ data.x | }}", "{{ now() }}", "{{ uuid() }}", "{{ 1 + }}", "{{ data..x }}", "{{ secrets.K | upper }}",
        "{{ data.x | secrets.K }}", "{{ data.x | replace('a') }}", "{{ secrets }} {{ secrets.K | base64 }}"
    })
    void whatIsNoTemplateIsRefusedAtPublish(String template) {
        assertThat(catchThrowableOfType(WaybillException.class, () -> Values.compile(Json.parse(Json.write(Json.NODES.objectNode().put("a/b", template)))))
                        .pointer())
                .isEqualTo("/a~1b");
    }

    @Test
    void aFilterOnTheWrongTypeFails() {
        assertThat(catchThrowableOfType(EvaluationException.class, () -> resolve("{{ data.list | upper }}")).problem().code()).isEqualTo("TEMPLATE_FILTER");
        assertThat(catchThrowableOfType(EvaluationException.class, () -> resolve("{{ data.u | base64_decode }}")).problem().code()).isEqualTo("TEMPLATE_FILTER");
    }

    @Test
    void secretsBecomeReferences() throws Exception {
        assertThat(resolve("Bearer {{ secrets.PAYMENTS_KEY }}")).isEqualTo(Json.parse("{\"$secret_text\":[\"Bearer \",{\"secret\":\"PAYMENTS_KEY\"}]}"));
        assertThat(resolve("credentials://stripe/key")).isEqualTo(SecretText.reference("stripe/key"));
        assertThat(resolve("{{ data.n }}:{{ secrets.K }}!")).isEqualTo(Json.parse("{\"$secret_text\":[\"5:\",{\"secret\":\"K\"},\"!\"]}"));
    }

    @Test
    void whatDataHoldsIsNeverEvaluatedAgain() throws Exception {
        JsonNode data = Json.parse("{\"name\":\"{{ secrets.PAYMENTS_KEY }}\",\"x\":\"= secrets.PAYMENTS_KEY\",\"c\":\"credentials://a/b\","
                + "\"o\":{\"$secret_text\":[{\"secret\":\"PAYMENTS_KEY\"}]}}");
        JsonNode document = Json.parse(
                """
                {"n":"{{ data.name }}","x":"{{ data.x }}","m":"<{{ data.name }}>","c":"{{ data.c }}","o":"{{ data.o }}","all":"= data",
                 "e":"= data.name","t":"= {'a':[data.o]}"}
                """);
        SecretSource secrets = (tenant, name) -> Optional.of("LEAKED");
        JsonNode frozen = Values.compile(document).resolve(name -> name.equals("data") ? data : null);
        JsonNode sent = SecretText.reveal(frozen, "t", secrets);
        assertThat(Json.write(sent)).doesNotContain("LEAKED");
        assertThat(sent.get("n").stringValue()).isEqualTo("{{ secrets.PAYMENTS_KEY }}");
        assertThat(sent.get("x").stringValue()).isEqualTo("= secrets.PAYMENTS_KEY");
        assertThat(sent.get("m").stringValue()).isEqualTo("<{{ secrets.PAYMENTS_KEY }}>");
        assertThat(sent.get("o")).isEqualTo(data.get("o"));
        assertThat(sent.get("all")).isEqualTo(data);
        assertThat(sent.at("/t/a/0")).isEqualTo(data.get("o"));
        // The provider repeats the strings, and the next step forwards its reply.
        JsonNode again = Values.compile(Json.parse("{\"f\":\"{{ outputs.a.body }}\",\"g\":\"= outputs.a.body.x\"}"))
                .resolve(name -> name.equals("outputs") ? Json.NODES.objectNode().set("a", Json.NODES.objectNode().set("body", sent)) : null);
        JsonNode resent = SecretText.reveal(again, "t", secrets);
        assertThat(resent.get("f")).isEqualTo(sent);
        assertThat(resent.get("g").stringValue()).isEqualTo("= secrets.PAYMENTS_KEY");
        assertThat(Json.write(resent)).doesNotContain("LEAKED");
    }

    @Test
    void anAuthorsMemberNamedLikeTheMarkerIsJustAMember() throws Exception {
        JsonNode document = Json.parse("{\"$secret_text\":[{\"secret\":\"K\"}]}");
        assertThat(SecretText.reveal(Values.compile(document).resolve(SCOPE), "t", (tenant, name) -> Optional.of("LEAKED"))).isEqualTo(document);
    }

    @Test
    void constantsCostNothing() throws Exception {
        Value value = Values.compile(Json.parse("{\"a\":[1,{\"b\":\"Bearer {{ secrets.K }}\"}]}"));
        assertThat(value.resolve(SCOPE)).isSameAs(value.resolve(SCOPE));
        assertThat(Values.constant(Json.parse("\"{{ data.n }}\"")).resolve(SCOPE).stringValue()).isEqualTo("{{ data.n }}");
    }

    @Test
    void anExpressionThatIsUndefinedIsNullInParams() throws Exception {
        assertThat(Values.compile(Json.parse("{\"a\":\"= data.nope\",\"b\":[\"= data.n\"]}")).resolve(SCOPE)).isEqualTo(Json.parse("{\"a\":null,\"b\":[5]}"));
    }
}

package dev.waybill.definition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every warning about a weaker guarantee: its code, its place, and that it refuses nothing. */
class LintTest {
    private static final String GOOD_KEY = "'idempotency':{'key':'c-{{ data.id }}','window':'24h'}";
    private static final String VERIFY = "'verify':{'params':{'url':'https://h/q'},'landed':'true','absent':'false'}";

    private static List<String> warnings(String document) {
        Validation validation = SequenceParser.validate(Json.parse(document.replace('\'', '"')));
        assertThat(validation.faults()).isEmpty();
        return validation.warnings().stream().map(fault -> fault.code() + " " + fault.pointer()).toList();
    }

    private static String http(String effect, String step) {
        return "{'name':'s','blocks':[{'type':'step','id':'a','handler':'http_request','params':{'method':'POST','url':'https://h/x'},'effect':{" + effect + "}" + step + "}]}";
    }

    @Test
    void aStepThatDeclaresAllThereIsToDeclareIsNotWarnedOf() {
        assertThat(warnings(http(GOOD_KEY + "," + VERIFY, ",'retry':{'max_attempts':3}"))).isEmpty();
        assertThat(warnings("{'name':'s','blocks':[{'type':'step','id':'a','handler':'http_request','params':{'url':'https://h/','read':true}}]}")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {
        "WB001 /blocks/0/effect | " + VERIFY + " | ",
        "WB002 /blocks/0/effect | " + GOOD_KEY + " | ",
        "WB003 /blocks/0/effect | 'idempotency':{'key':'c-{{ data.id }}'}," + VERIFY + " | ",
        "WB004 /blocks/0/retry | " + VERIFY + " | ,'retry':{'max_attempts':3}",
        "WB005 /blocks/0/effect | 'settle':'1s'," + GOOD_KEY + "," + VERIFY + " | ",
        "WB006 /blocks/0/effect/repeats | 'repeats':'accepted'," + GOOD_KEY + "," + VERIFY + " | ",
        "WB007 /blocks/0/on_unknown | " + GOOD_KEY + "," + VERIFY + " | ,'on_unknown':['verify','fail']",
        "WB008 /blocks/0/effect/status/503 | 'status':{'503':'not_applied'}," + GOOD_KEY + "," + VERIFY + " | ",
        "WB010 /blocks/0/effect | 'idempotency':{'key':'c-{{ data.id }}','window':'2m'}," + VERIFY + " | ",
        "WB010 /blocks/0/effect | " + GOOD_KEY + "," + VERIFY + " | ,'on_unknown':[{'wait':{'for':'2d'}},'resend']",
    })
    void whatWeakensTheGuaranteeIsNamed(String warning, String effect, String step) {
        assertThat(warnings(http(effect, step == null ? "" : step))).contains(warning);
    }

    @Test
    void aSecretOutsideTheHeadersOfAKeyedEffect() {
        String document = http(GOOD_KEY + "," + VERIFY, "").replace("'url':'https://h/x'", "'url':'https://h/x?k={{ secrets.K }}','headers':{'A':'{{ secrets.H }}'},'body':{'t':['credentials://x']}");
        assertThat(warnings(document)).contains("WB009 /blocks/0/params/url", "WB009 /blocks/0/params/body/t/0").noneMatch(text -> text.contains("headers"));
        assertThat(warnings(document.replace(GOOD_KEY + ",", ""))).noneMatch(text -> text.startsWith("WB009"));
    }

    @Test
    void idsThatOthersRound() {
        String document = http(GOOD_KEY + "," + VERIFY, "").replace("'url':'https://h/x'", "'url':'https://h/x','body':{'order_id':9007199254740993,'id':7,'items':[{'itemId':1.5}],'paid':1.5}")
                .replace("'name':'s'", "'name':'s','input_schema':{'type':'object','properties':{'order_id':{'type':'number'},'n':{'type':'number'}}}");
        assertThat(warnings(document)).containsExactlyInAnyOrder(
                "WB011 /blocks/0/params/body/order_id", "WB011 /blocks/0/params/body/items/0/itemId", "WB011 /input_schema/properties/order_id");
    }

    @Test
    void aProfileThatNoStepComesTo() {
        String profiles = "'name':'s','destinations':[{'name':'a','match':{'url':'https://h/x'}},{'name':'b','match':{'url':'https://g/x'}},{'name':'c','match':{'handler':'other'}}]";
        assertThat(warnings(http(GOOD_KEY + "," + VERIFY, "").replace("'name':'s'", profiles))).containsExactlyInAnyOrder("WB012 /destinations/1/match", "WB012 /destinations/2/match");
        String open = http(GOOD_KEY + "," + VERIFY, "").replace("'url':'https://h/x'", "'url':'{{ data.base }}/x'").replace("'name':'s'", profiles);
        assertThat(warnings(open)).containsExactly("WB012 /destinations/2/match");
    }

    @Test
    void aHandlerOfWhichNothingIsDeclared_untilAProfileDoes() {
        String step = "'blocks':[{'type':'step','id':'a','handler':'charge','params':{}}]}";
        assertThat(warnings("{'name':'s'," + step)).containsExactlyInAnyOrder("WB001 /blocks/0", "WB002 /blocks/0", "WB013 /blocks/0/handler");
        assertThat(warnings("{'name':'s','destinations':[{'name':'c','match':{'handler':'charge'}}]," + step)).containsExactlyInAnyOrder("WB001 /blocks/0", "WB002 /blocks/0");
    }

    @Test
    void whatAProfileDeclaresIsNotMissed() {
        String profile = "'name':'s','destinations':[{'name':'a','match':{'url':'https://h'},'idempotency':{'window':'24h'}," + VERIFY + "}]";
        assertThat(warnings(http("'idempotency':{'key':'c-{{ data.id }}'}", "").replace("'name':'s'", profile))).isEmpty();
        assertThat(warnings(http("'idempotency':{'key':'c-{{ data.id }}'}", "").replace("'name':'s'", profile.replace("'window':'24h'}", "'window':'24h'},'status':{'502':'rejected'}"))))
                .containsExactly("WB008 /blocks/0");
    }
}

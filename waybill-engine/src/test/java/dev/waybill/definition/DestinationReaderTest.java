package dev.waybill.definition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Destination profiles as they are written: what is refused and where, which one holds, and presets. */
class DestinationReaderTest {

    private static JsonNode json(String text) {
        return Json.parse(text.replace('\'', '"'));
    }

    private static Validation validation(String profile, String step) {
        return SequenceParser.validate(json("{'name':'s','destinations':[" + profile + "],'blocks':[" + step + "]}"));
    }

    private static List<String> faults(String profile) {
        return validation(profile, "").faults().stream().map(fault -> fault.code() + " " + fault.pointer()).toList();
    }

    private static String pay(String more) {
        return "{'name':'pay','match':{'url':'https://api.pay.example/v1'}" + more + "}";
    }

    private static String post(String url, String effect) {
        return "{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'" + url + "'},'effect':{" + effect + "}}";
    }

    private static Destinations destinations(String... profiles) {
        return Destinations.ofNode(json("[" + String.join(",", profiles) + "]"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{'match':{'handler':'h'}} | MISSING_FIELD /destinations/0",
        "{'name':'a'} | MISSING_FIELD /destinations/0",
        "{'name':'a','match':{}} | INVALID_VALUE /destinations/0/match",
        "{'name':'a','match':{'url':'https://h/','handler':'h'}} | INVALID_VALUE /destinations/0/match",
        "{'name':'a','match':{'url':'https://{{ data.h }}/'}} | INVALID_VALUE /destinations/0/match/url",
        "{'name':'a','match':{'url':'https://u:p@h/'}} | INVALID_VALUE /destinations/0/match/url",
        "{'name':'a','match':{'url':'https://h/?q=1'}} | INVALID_VALUE /destinations/0/match/url",
        "{'name':'a','match':{'handler':'h'},'hedaer':1} | UNKNOWN_FIELD /destinations/0/hedaer",
        "{'name':'a','match':{'handler':'h'},'tenant':'t'} | UNKNOWN_FIELD /destinations/0/tenant",
        "{'name':'a','match':{'handler':'h'},'preset':'strip'} | INVALID_VALUE /destinations/0/preset",
        "{'name':'a','match':{'handler':'h'},'idempotency':{'key':'x'}} | UNKNOWN_FIELD /destinations/0/idempotency/key",
        "{'name':'a','match':{'handler':'h'},'idempotency':{'charset':'utf8'}} | INVALID_VALUE /destinations/0/idempotency/charset",
        "{'name':'a','match':{'handler':'h'},'idempotency':{'max_length':0}} | WRONG_TYPE /destinations/0/idempotency/max_length",
        "{'name':'a','match':{'handler':'h'},'idempotency':{'min_length':9,'max_length':8}} | INVALID_VALUE /destinations/0/idempotency/min_length",
        "{'name':'a','match':{'handler':'h'},'idempotency':{'header':'Content-Length'}} | HEADER_FORBIDDEN /destinations/0/idempotency/header",
        "{'name':'a','match':{'handler':'h'},'status':{'503':'maybe'}} | INVALID_VALUE /destinations/0/status/503",
        "{'name':'a','match':{'handler':'h'},'on_conflict':'verify'} | VERIFIER_MISSING /destinations/0/on_conflict",
        "{'name':'a','match':{'handler':'h'},'hold':{'unknowns':0}} | WRONG_TYPE /destinations/0/hold/unknowns",
        "{'name':'a','match':{'handler':'h'},'hold':{'probe':0}} | INVALID_DURATION /destinations/0/hold/probe",
        "{'name':'a','match':{'handler':'h'},'search':'https://h/{{ secrets.K }}'} | INVALID_VALUE /destinations/0/search",
        "{'name':'a','match':{'handler':'h'},'search':'https://{{ key }}.h/'} | INVALID_VALUE /destinations/0/search",
        "{'name':'a','match':{'handler':'h'},'search':'javascript:alert(1)'} | INVALID_VALUE /destinations/0/search",
        "{'name':'a','match':{'handler':'h'},'verify':{'params':{'url':'https://h/','method':'POST'},'landed':'true','absent':'false'}}"
                + " | VERIFIER_NOT_READ_ONLY /destinations/0/verify/params",
    })
    void whatIsWrongIsNamedByCodeAndPlace(String profile, String fault) {
        assertThat(faults(profile)).contains(fault);
    }

    @Test
    void twoProfilesOfOneNameOrOnePlaceAreRefused() {
        assertThat(faults(pay("") + "," + pay("").replace("/v1", "/v2"))).containsExactly("DUPLICATE_NAME /destinations/1");
        assertThat(faults(pay("") + "," + pay("").replace("'pay'", "'other'").replace("example/v1", "EXAMPLE:443/v1/")))
                .containsExactly("DUPLICATE_NAME /destinations/1");
    }

    @ParameterizedTest
    @CsvSource({
        "https://api.pay.example/v1, pay",
        "https://api.pay.example/v1/charges, pay",
        "https://API.pay.example:443/v1/charges?x=1, pay",
        "https://api.pay.example/v1/refunds/7, refunds",
        "https://api.pay.example/v1/refunds2, pay",
        "https://api.pay.example/v12, ",
        "https://api.pay.example/v1x/charges, ",
        "http://api.pay.example/v1/charges, ",
        "https://api.pay.example:8443/v1/charges, ",
        "https://api.pay.example.evil/v1, ",
        "https://api.pay.example/v1/../admin, ",
        "https://api.pay.example/v1/%2E%2e/admin, ",
    })
    void theLongestAddressOnASegmentBoundaryHolds(String url, String name) {
        Destinations known = destinations(pay(""), "{'name':'refunds','match':{'url':'https://api.pay.example/v1/refunds/'}}");
        DestinationProfile found = known.find("http_request", dev.waybill.json.Fingerprints.destination("http_request", Json.NODES.objectNode().put("url", url)).text());
        assertThat(found == null ? null : found.name()).isEqualTo(name);
    }

    @Test
    void aHandlerIsAProfileToo_andATenantHasItsOwn() {
        Destinations known = destinations("{'name':'a','tenant':'acme','match':{'handler':'charge'}}", "{'name':'b','match':{'handler':'refund'}}");
        assertThat(Objects.requireNonNull(known.forTenant("acme").find("charge", "charge")).name()).isEqualTo("a");
        assertThat(known.forTenant("other").find("charge", "charge")).isNull();
        assertThat(known.forTenant("other").find("refund", "refund resource=x")).isNotNull();
    }

    @Test
    void theVersionsOwnProfileStandsBeforeTheNodes() {
        JsonNode document = json("{'name':'s','destinations':[" + pay(",'settle':'7s'") + "],'blocks':[]}");
        Sequence sequence = SequenceParser.parse(document, "t", () -> new UUID(0, 1), handler -> true, destinations(pay(",'settle':'9s'")));
        DestinationProfile found = Objects.requireNonNull(sequence.destinations().find("http_request", "http_request https://api.pay.example/v1/x"));
        assertThat(found.settle()).isEqualTo(Duration.ofSeconds(7));
        assertThat(found.ofNode()).isFalse();
    }

    @Test
    void theStepWinsFieldByField() {
        DestinationProfile profile = destinations(pay(",'idempotency':{'header':'X-Key','window':'7d','replayed':[]},'settle':'90s','status':{'503':'not_applied','502':'unknown'},"
                + "'on_conflict':'retry','resend':{'max':1}")).profiles().getFirst();
        Sequence sequence = SequenceParser.parse(
                json("{'name':'s','blocks':[" + post("https://api.pay.example/v1", "'idempotency':{'key':'c-{{ data.id }}','window':'1h'},'status':{'502':'rejected'},'settle':0")
                        + "]}"),
                "t", () -> new UUID(0, 1));
        Sequence.Effect effect = Objects.requireNonNull(((Sequence.Step) sequence.blocks().getFirst()).at(profile).effect());
        assertThat(effect.keyHeader()).isEqualTo("X-Key");
        assertThat(effect.keyWindow()).isEqualTo(Duration.ofHours(1));
        assertThat(effect.replayed()).isEmpty();
        assertThat(effect.settle()).isZero();
        assertThat(effect.statusMap()).isEqualTo(Map.of(503, "not_applied", 502, "rejected"));
        assertThat(effect.onConflict()).isEqualTo(Sequence.OnConflict.RETRY);
        assertThat(effect.resend().max()).isEqualTo(1);
    }

    @Test
    void aProfileMakesAKeyedStepOnceByKey() {
        String profile = pay(",'idempotency':{'window':'24h'}");
        String key = "'idempotency':{'key':'c-{{ data.id }}'}";
        assertThat(validation(profile, post("https://api.pay.example/v1/charges", key)).guarantees().getFirst().guarantee()).isEqualTo(Guarantee.ONCE_BY_KEY);
        assertThat(validation(profile, post("https://api.pay.example/v1/charges/{{ data.id }}", key)).guarantees().getFirst().guarantee())
                .isEqualTo(Guarantee.ONCE_BY_KEY);
        assertThat(validation(profile, post("https://other.example/v1/charges", key)).guarantees().getFirst().guarantee()).isEqualTo(Guarantee.AT_MOST_ONCE);
        assertThat(validation(profile, post("https://api.pay.example/v1/charges", "'name':'x'")).guarantees().getFirst().guarantee())
                .isEqualTo(Guarantee.AT_MOST_ONCE);
    }

    @Test
    void whatAProfileKnowsNeedNotBeDeclaredAgain() {
        String profile = pay(",'idempotency':{'window':'24h'},'verify':{'params':{'url':'https://api.pay.example/v1/q?k={{ key }}'},'landed':'body.n > 0','absent':'body.n = 0'}");
        String effect = "'idempotency':{'key':'c-{{ data.id }}'},'on_conflict':'verify','resend':{'max':2}";
        for (String url : List.of("https://api.pay.example/v1/x", "https://{{ data.host }}/v1/x", "= data.url")) {
            String step = post(url, effect).replace("'effect'", "'on_unknown':['verify','resend'],'effect'");
            assertThat(validation(profile, step).faults()).as(url).isEmpty();
        }
        assertThat(validation(profile, post("https://other.example/x", effect)).faults()).extracting(Fault::code)
                .containsExactlyInAnyOrder("KEY_CONTRACT_MISSING", "VERIFIER_MISSING");
    }

    static List<String> presets() {
        return Presets.names();
    }

    @ParameterizedTest
    @MethodSource("presets")
    void aPresetKnowsItsKeyAndPromisesNothingOfServerErrors(String preset) {
        DestinationProfile profile = destinations(pay(",'preset':'" + preset + "'")).profiles().getFirst();
        assertThat(profile.keyHeader()).isNotBlank();
        assertThat(profile.keyRule()).isNotNull();
        assertThat(profile.statusMap()).isEmpty();
        assertThat(profile.settle()).isGreaterThanOrEqualTo(Duration.ofSeconds(60));
        assertThat(profile.document().toString()).doesNotContain("secret");
    }

    @Test
    void aPresetIsExtendedFieldByField() {
        DestinationProfile profile = destinations(pay(",'preset':'stripe','idempotency':{'window':'12h','replayed':null},'settle':'5m'")).profiles().getFirst();
        assertThat(profile.keyHeader()).isEqualTo("Idempotency-Key");
        assertThat(profile.keyWindow()).isEqualTo(Duration.ofHours(12));
        assertThat(profile.replayed()).isNull();
        assertThat(profile.settle()).isEqualTo(Duration.ofMinutes(5));
        assertThat(Objects.requireNonNull(profile.keyRule()).maxLength()).isEqualTo(255);
    }

    @ParameterizedTest
    @CsvSource(nullValues = "-", value = {
        "ascii, charge-1 €, false", "ascii, charge 1, true", "visible_ascii, charge 1, false", "url_safe, charge/1, false", "url_safe, charge-1_2.~, true",
        "alphanumeric, charge1, true", "alphanumeric, charge-1, false", "uuid, 6f1e0f2a-1111-4222-8333-444455556666, true", "uuid, 6f1e0f2a, false",
        "ascii, 1234567890123456789012345678901234567890x, false", "ascii, ab, false",
    })
    void aKeyIsCheckedByItsLengthAndCharacters(String charset, String key, boolean taken) {
        KeyRule rule = new KeyRule(3, 40, KeyRule.Charset.valueOf(charset.toUpperCase(java.util.Locale.ROOT)), false);
        assertThat(rule.fault(key, "pay") == null).isEqualTo(taken);
    }

    @Test
    void aQuotedKeyIsAStringOfStructuredFields() {
        assertThat(new KeyRule(1, 40, KeyRule.Charset.ASCII, true).sent("a\"b\\c")).isEqualTo("\"a\\\"b\\\\c\"");
    }

    @Test
    void whatGoesIntoALinkIsEncodedAndALinkWithoutItsValueIsNone() {
        SearchLink link = new SearchLink("https://d.pay.example/search?q={{ key }}&id={{provider_receipt_id}}#{{ labels.order }}");
        assertThat(SearchLink.fault(link.template())).isNull();
        assertThat(link.of(name -> "a&b/ c?" + name)).isEqualTo("https://d.pay.example/search?q=a%26b%2F%20c%3Fkey&id=a%26b%2F%20c%3Fprovider_receipt_id#a%26b%2F%20c%3Flabels.order");
        assertThat(link.of(name -> name.equals("key") ? "k" : null)).isNull();
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "[1]", "[{'name':'a'}]"})
    void whatANodeIsToldIsCheckedAtOnce(String list) {
        assertThatThrownBy(() -> Destinations.ofNode(json(list)))
                .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("INVALID_DESTINATIONS"));
    }
}

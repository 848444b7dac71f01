package dev.waybill.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.model.WaybillException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

class FingerprintsTest {
    private static JsonNode request(String url, String headers) {
        return Json.parse("{\"method\":\"POST\",\"url\":" + Json.write(Json.NODES.stringNode(url)) + ",\"headers\":" + headers + ",\"body\":{\"amount\":5}}");
    }

    @Test
    void aLiteralCredentialOccursNowhereInWhatIsStoredShownOrHashed() {
        JsonNode frozen = request("http://user:PASS77@127.0.0.1:9/charge?api_key=SECRET123&order=7#x", "{\"Authorization\":\"Bearer TOKEN456\",\"X-Api-Key\":\"KEY789\"}");
        JsonNode stored = Fingerprints.scrubForStorage(frozen);
        assertThat(Json.write(stored)).doesNotContain("SECRET123", "TOKEN456", "KEY789", "PASS77").contains("127.0.0.1:9/charge", "order=7");
        assertThat(SecretText.masked(stored).get("url").stringValue()).isEqualTo("http://[masked]@127.0.0.1:9/charge?api_key=[masked]&order=7#x");
        assertThat(Fingerprints.destination("http_request", frozen).text()).isEqualTo("http_request http://127.0.0.1:9/charge");
        // The params in memory are what is sent.
        assertThat(frozen.get("url").stringValue()).contains("SECRET123");
        assertThat(Fingerprints.requestSha256(frozen)).isEqualTo(Fingerprints.requestSha256(stored));
    }

    @Test
    void aStoredMaskCanNeverBeSent() {
        JsonNode stored = Fingerprints.scrubForStorage(request("http://h/?token=abc", "{}"));
        assertThatThrownBy(() -> SecretText.reveal(stored, "t", SecretSource.NONE))
                .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("SECRET_MISSING"));
    }

    @Test
    void anEchoOfALiteralCredentialIsRedacted() {
        JsonNode frozen = request("http://h/charge?api_key=SECRET123", "{\"Authorization\":\"Bearer TOKEN456\"}");
        assertThat(Redactor.forRequest(frozen, "t", SecretSource.NONE).redact("401: TOKEN456 and SECRET123 are wrong"))
                .doesNotContain("TOKEN456", "SECRET123");
    }

    @Test
    void rotatingACredentialOrATraceDoesNotChangeTheRequestHash() {
        String hash = Fingerprints.requestSha256(request("https://h/c?api_key=one&order=7", "{\"Authorization\":\"Bearer one\",\"Accept\":\"a\"}"));
        assertThat(Fingerprints.requestSha256(request("https://h/c?api_key=two&order=7", "{\"authorization\":\"Bearer two\",\"accept\":\"a\"}"))).isEqualTo(hash);
        assertThat(Fingerprints.requestSha256(request(
                        "https://h/c?api_key=one&order=7",
                        "{\"traceparent\":\"00-1\",\"TraceState\":\"x\",\"Date\":\"now\",\"X-Request-Id\":\"9\",\"Accept\":\"a\",\"Authorization\":\"x\"}")))
                .isEqualTo(hash);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "{\"method\":\"POST\",\"url\":\"https://h/c?order=8\",\"headers\":{},\"body\":{\"amount\":5}}",
        "{\"method\":\"POST\",\"url\":\"https://h/c?order=7\",\"headers\":{},\"body\":{\"amount\":6}}",
        "{\"method\":\"PUT\",\"url\":\"https://h/c?order=7\",\"headers\":{},\"body\":{\"amount\":5}}",
        "{\"method\":\"POST\",\"url\":\"https://h/c?order=7\",\"headers\":{\"Idempotency-Key\":\"k\"},\"body\":{\"amount\":5}}"
    })
    void whatTheProviderWouldActOnChangesTheRequestHash(String other) {
        assertThat(Fingerprints.requestSha256(Json.parse(other))).isNotEqualTo(Fingerprints.requestSha256(request("https://h/c?order=7", "{}")));
    }

    @Test
    void theSpellingOfNumbersDoesNotChangeTheRequestHash() {
        assertThat(Fingerprints.requestSha256(Json.parse("{\"amount\":5.0,\"id\":1}"))).isEqualTo(Fingerprints.requestSha256(Json.parse("{\"id\":1e0,\"amount\":5}")));
    }

    @Test
    void secretsInAUrlStayReferencesAndLiteralTextNextToThemIsMasked() {
        JsonNode url = SecretText.of(List.of(
                new SecretText.Part.Text("https://h/c?token="),
                new SecretText.Part.Secret("A"),
                new SecretText.Part.Text("tail&key=LITERAL&n="),
                new SecretText.Part.Secret("B")));
        JsonNode stored = Fingerprints.scrubForStorage(Json.NODES.objectNode().set("url", url));
        assertThat(Json.write(stored)).doesNotContain("tail", "LITERAL");
        assertThat(SecretText.masked(stored).get("url").stringValue())
                .isEqualTo("https://h/c?token={{ secrets.A }}[masked]&key=[masked]&n={{ secrets.B }}");
    }

    @Test
    void nothingToHideMeansNothingIsCopied() {
        JsonNode frozen = request("https://h/c?order=7", "{\"Accept\":\"a\"}");
        assertThat(Fingerprints.scrubForStorage(frozen)).isSameAs(frozen);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "api_key", "apikey", "API-KEY", "x-api-key", "token", "access_token", "key", "secret", "client_secret", "signature", "X-Amz-Signature", "password", "sig"
    })
    void credentialNamesAreKnownInTheirSpellings(String name) {
        assertThat(Json.write(Fingerprints.scrubForStorage(request("http://h/p?" + name + "=SECRET123", "{}")))).doesNotContain("SECRET123");
    }

    @ParameterizedTest
    @CsvSource({
        "https://User:pw@API.Pay.Example:443/v1/Charges?x=1#y, https://api.pay.example/v1/Charges",
        "http://h:80, http://h/", "http://h:8080/a, http://h:8080/a", "http://[::1]:9/a?b, http://[::1]:9/a", "https://a@b:c@h/p, https://h/p"
    })
    void aUrlForPeopleHasSchemeHostPortAndPath(String url, String shown) {
        assertThat(Fingerprints.displayUrl(url)).isEqualTo(shown);
    }

    @Test
    void noPartOfAUserinfoWithSeveralAtSignsIsStored() {
        assertThat(Json.write(Fingerprints.scrubForStorage(request("https://a@b:PW1@h/p", "{}")))).doesNotContain("PW1").contains("@h/p");
    }

    @Test
    void theDestinationIsTheHandlerAndItsAddressFieldsOnly() {
        var one = Fingerprints.destination("llm_call", Json.parse("{\"provider\":\"openai\",\"model\":\"gpt\",\"prompt\":\"a\"}"));
        var two = Fingerprints.destination("llm_call", Json.parse("{\"model\":\"gpt\",\"provider\":\"openai\",\"prompt\":\"b\"}"));
        assertThat(one).isEqualTo(two);
        assertThat(one.text()).isEqualTo("llm_call provider=openai model=gpt");
        assertThat(one.fingerprint()).hasSize(64);
        assertThat(Fingerprints.destination("agent", Json.parse("{\"provider\":\"openai\",\"model\":\"gpt\"}")).fingerprint()).isNotEqualTo(one.fingerprint());
        assertThat(Fingerprints.destination("charge_card", Json.parse("{\"amount\":1}")).text()).isEqualTo("charge_card");
    }

    @Test
    void aDefaultPortAndAnotherQueryAreTheSameDestination() {
        assertThat(Fingerprints.destination("http_request", request("https://h:443/c?a=1", "{}")))
                .isEqualTo(Fingerprints.destination("http_request", request("https://H/c?a=2", "{}")));
    }

    @Test
    void aSecretInTheAddressIsShownByName() {
        JsonNode url = SecretText.of(List.of(new SecretText.Part.Text("https://hooks.example/"), new SecretText.Part.Secret("Hook")));
        assertThat(Fingerprints.destination("http_request", Json.NODES.objectNode().set("url", url)).text())
                .isEqualTo("http_request https://hooks.example/{{ secrets.Hook }}");
    }
}

package dev.waybill.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.json.SecretText.Part;
import dev.waybill.model.WaybillException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

class SecretTextTest {
    private static final SecretSource SECRETS =
            (tenant, name) -> tenant.equals("acme") && name.equals("K") ? Optional.of("s3cr3t/+\"x") : Optional.empty();
    private static final JsonNode BEARER = SecretText.of(List.of(new Part.Text("Bearer "), new Part.Secret("K")));

    @Test
    void aReferenceIsRevealedForTheSenderAndMaskedForPeople() {
        JsonNode frozen = Json.NODES.objectNode().set("headers", Json.NODES.objectNode().set("Authorization", BEARER));
        assertThat(Json.write(frozen)).isEqualTo("{\"headers\":{\"Authorization\":{\"$secret_text\":[\"Bearer \",{\"secret\":\"K\"}]}}}");
        assertThat(SecretText.reveal(frozen, "acme", SECRETS).at("/headers/Authorization").stringValue()).isEqualTo("Bearer s3cr3t/+\"x");
        assertThat(SecretText.masked(frozen).at("/headers/Authorization").stringValue()).isEqualTo("Bearer {{ secrets.K }}");
        assertThat(SecretText.hasSecrets(frozen)).isTrue();
        assertThat(SecretText.names(frozen)).containsExactly("K");
    }

    @Test
    void aMissingSecretNamesTheReferenceAndAnotherTenantsSecretIsMissing() {
        assertThatThrownBy(() -> SecretText.reveal(BEARER, "other", SECRETS))
                .isInstanceOfSatisfying(WaybillException.class, e -> {
                    assertThat(e.code()).isEqualTo("SECRET_MISSING");
                    assertThat(e.getMessage()).contains("K");
                });
    }

    @Test
    void dataThatLooksLikeAReferenceStaysData() {
        JsonNode data = Json.parse(
                "{\"$secret_text\":[{\"secret\":\"K\"}],\"x\":[{\"$secret_text\":[\"a\"]},{\"$$secret_text\":1,\"$secret_text2\":2}],\"$other\":3}");
        JsonNode frozen = SecretText.escape(data);
        assertThat(SecretText.hasSecrets(frozen)).isFalse();
        assertThat(SecretText.reveal(frozen, "acme", SECRETS)).isEqualTo(data);
        assertThat(SecretText.masked(frozen)).isEqualTo(data);
    }

    @Test
    void escapingAndRevealingIsIdentityForAnyData() {
        long seed = 33;
        System.out.println("SecretTextTest seed " + seed);
        JsonGenerator generator = new JsonGenerator(new Random(seed));
        for (int i = 0; i < 3_000; i++) {
            JsonNode data = generator.node(4);
            assertThat(SecretText.reveal(SecretText.escape(data), "acme", SECRETS)).isEqualTo(data);
            assertThat(SecretText.reveal(SecretText.escape(SecretText.escape(data)), "acme", SECRETS)).isEqualTo(SecretText.escape(data));
        }
    }

    @Test
    void dataWithoutTheMarkerIsNotCopied() {
        JsonNode data = Json.parse("{\"a\":[{\"b\":1}]}");
        assertThat(SecretText.escape(data)).isSameAs(data);
    }

    @Test
    void everySpellingOfASecretIsRedacted() {
        String secret = "s3cr3t/+\"x";
        Redactor redactor = Redactor.forRequest(BEARER, "acme", SECRETS);
        String basic = Base64.getEncoder().encodeToString(("user:" + secret).getBytes(StandardCharsets.UTF_8));
        for (String echo : List.of(
                "token " + secret + " refused",
                "{\"token\":" + Json.write(Json.NODES.stringNode(secret)) + "}",
                "{\"token\":\"s3cr3t\\/+\\\"x\"}",
                "/echo?t=s3cr3t%2F%2B%22x&u=1",
                "/echo?t=s3cr3t%2f%2b%22x",
                Base64.getEncoder().encodeToString(secret.getBytes(StandardCharsets.UTF_8)),
                "Basic " + basic)) {
            String clean = redactor.redact(echo);
            assertThat(clean).contains("[redacted:K]").doesNotContain("s3cr3t");
            assertThat(new String(redactor.redact(echo.getBytes(StandardCharsets.UTF_8)), StandardCharsets.UTF_8)).isEqualTo(clean);
        }
        assertThat(new String(Base64.getDecoder().decode(basic), StandardCharsets.UTF_8)).contains(secret);
    }

    @Test
    void bytesThatAreNotTextSurviveRedaction() {
        byte[] bytes = {(byte) 0xff, 0, 's', '3', 'c', 'r', (byte) 0xc3, (byte) 0xa9, (byte) 0xfe};
        byte[] clean = Redactor.of(Map.of("K", "s3cré")).redact(bytes);
        assertThat(new String(clean, StandardCharsets.ISO_8859_1)).isEqualTo("\u00ff\0[redacted:K]\u00fe");
        byte[] none = {1, 2, (byte) 0x80};
        assertThat(Redactor.of(Map.of("K", "s3cré")).redact(none)).isSameAs(none);
    }

    @Test
    void aSecretInsideALongerOneLeavesNoHalf() {
        assertThat(Redactor.of(Map.of("SHORT", "abcd", "LONG", "xxabcdyy")).redact("xxabcdyy abcd")).isEqualTo("[redacted:LONG] [redacted:SHORT]");
    }
}

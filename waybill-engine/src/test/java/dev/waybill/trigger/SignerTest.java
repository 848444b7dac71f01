package dev.waybill.trigger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.json.Json;
import dev.waybill.trigger.Signer.Answer.Genuine;
import dev.waybill.trigger.Signer.Answer.Refused;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Case A30, and the examples that the senders publish. */
class SignerTest {
    private static final Instant NOW = Instant.ofEpochSecond(1_700_000_000);
    private static final byte[] BODY = "{ \"order\" :  1.0 }".getBytes(StandardCharsets.UTF_8);
    private static final List<String> SECRETS = List.of("old-secret", "new-secret");

    private final Map<String, List<String>> headers = new HashMap<>();

    private Signer.Answer verify(Signer signer, byte[] body, List<String> secrets, Instant now) {
        return signer.verify(name -> headers.getOrDefault(name, List.of()), body, secrets, now);
    }

    private static byte[] hmac(String key, String signed) throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
        return mac.doFinal(signed.getBytes(StandardCharsets.UTF_8));
    }

    private static String stripe(String secret, long at, byte[] body) throws Exception {
        return HexFormat.of().formatHex(hmac(secret, at + "." + new String(body, StandardCharsets.UTF_8)));
    }

    private void stripeHeader(String value) {
        headers.put("stripe-signature", List.of(value));
    }

    @ParameterizedTest
    @ValueSource(strings = {"t=%d,v1=%s,v1=%s", "t=%d, v1=00ff, v1=%2$s", "v1=%3$s,t=%1$d"})
    void a30AnySignatureOfTheVersionByAnyActiveSecretIsEnough(String header) throws Exception {
        long at = NOW.getEpochSecond() - 10;
        stripeHeader(header.formatted(at, stripe("old-secret", at, BODY), stripe("new-secret", at, BODY)));
        assertThat(verify(Signer.STRIPE, BODY, SECRETS, NOW)).isInstanceOf(Genuine.class);
    }

    @Test
    void a30AnotherVersionIsNeverEnough() throws Exception {
        long at = NOW.getEpochSecond();
        stripeHeader("t=" + at + ",v0=" + stripe("old-secret", at, BODY));
        assertThat(verify(Signer.STRIPE, BODY, SECRETS, NOW)).isInstanceOf(Refused.class);
    }

    @Test
    void a30ASignatureOfTheBodyAsAParserWouldWriteItIsNone() throws Exception {
        long at = NOW.getEpochSecond();
        byte[] written = Json.writeBytes(Json.parse(BODY));
        stripeHeader("t=" + at + ",v1=" + stripe("new-secret", at, written));
        assertThat(verify(Signer.STRIPE, BODY, SECRETS, NOW)).isInstanceOf(Refused.class);
        assertThat(verify(Signer.STRIPE, written, SECRETS, NOW)).isInstanceOf(Genuine.class);
    }

    @ParameterizedTest
    @CsvSource({"-301, false", "-300, true", "0, true", "60, true", "61, false"})
    void a30TheTimeMayBe300SecondsOldAnd60Ahead(long offset, boolean genuine) throws Exception {
        long at = NOW.getEpochSecond() + offset;
        stripeHeader("t=" + at + ",v1=" + stripe("new-secret", at, BODY));
        assertThat(verify(Signer.STRIPE, BODY, SECRETS, NOW) instanceof Genuine).isEqualTo(genuine);
    }

    @Test
    void a30TwoTimesAreNone() throws Exception {
        long at = NOW.getEpochSecond();
        String signature = stripe("new-secret", at, BODY);
        for (String header : List.of("t=" + at + ",t=" + at + ",v1=" + signature, "v1=" + signature, "t=,v1=" + signature, "t=-1,v1=" + signature, "t=1e9,v1=" + signature)) {
            stripeHeader(header);
            assertThat(verify(Signer.STRIPE, BODY, SECRETS, NOW)).as(header).isInstanceOf(Refused.class);
        }
        headers.put("stripe-signature", List.of("t=" + at + ",v1=" + signature, "t=" + at + ",v1=" + signature));
        assertThat(verify(Signer.STRIPE, BODY, SECRETS, NOW)).isEqualTo(new Refused("stripe-signature is given more than once"));
    }

    @Test
    void aRepeatHasTheSameIdAndAnotherBodyHasNot() throws Exception {
        long at = NOW.getEpochSecond();
        stripeHeader("t=" + at + ",v1=" + stripe("old-secret", at, BODY));
        Signer.Answer first = verify(Signer.STRIPE, BODY, SECRETS, NOW);
        stripeHeader("t=" + at + ",v1=" + stripe("new-secret", at, BODY));
        assertThat(verify(Signer.STRIPE, BODY, SECRETS, NOW.plusSeconds(5))).isEqualTo(first);
        byte[] other = "{}".getBytes(StandardCharsets.UTF_8);
        stripeHeader("t=" + at + ",v1=" + stripe("new-secret", at, other));
        assertThat(verify(Signer.STRIPE, other, SECRETS, NOW)).isInstanceOf(Genuine.class).isNotEqualTo(first);
    }

    /** The vector of reliability.md, security rule 6. */
    @Test
    void standardWebhooksAcceptsItsOwnExampleAndNothingNearIt() {
        String secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        byte[] body = "{\"test\": 2432232314}".getBytes(StandardCharsets.UTF_8);
        Instant at = Instant.ofEpochSecond(1_614_265_330);
        headers.put("webhook-id", List.of("msg_p5jXN8AQM9LWM0D4loKWxJek"));
        headers.put("webhook-timestamp", List.of("1614265330"));
        headers.put("webhook-signature", List.of("v1a,AAAA v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assertThat(verify(Signer.STANDARD_WEBHOOKS, body, List.of(secret), at)).isEqualTo(new Genuine("msg_p5jXN8AQM9LWM0D4loKWxJek"));

        headers.put("webhook-signature", List.of("v1a,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assertThat(verify(Signer.STANDARD_WEBHOOKS, body, List.of(secret), at)).isInstanceOf(Refused.class);
        headers.put("webhook-signature", List.of("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        headers.put("webhook-id", List.of("msg_another"));
        assertThat(verify(Signer.STANDARD_WEBHOOKS, body, List.of(secret), at)).isInstanceOf(Refused.class);
        headers.put("webhook-id", List.of("msg.1614265330"));
        assertThat(verify(Signer.STANDARD_WEBHOOKS, body, List.of(secret), at)).isInstanceOf(Refused.class);
        assertThatThrownBy(() -> Signer.STANDARD_WEBHOOKS.key("whsec_*")).isInstanceOf(IllegalArgumentException.class);
    }

    /** docs.slack.dev, Verifying requests from Slack. */
    @Test
    void slackAcceptsItsOwnExample() {
        byte[] body = ("token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar"
                        + "&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com"
                        + "%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121."
                        + "803a0bc887a14d10d2c447fce8b6703c")
                .getBytes(StandardCharsets.UTF_8);
        headers.put("x-slack-request-timestamp", List.of("1531420618"));
        headers.put("x-slack-signature", List.of("v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"));
        List<String> secrets = List.of("8f742231b10e8888abcd99yyyzzz85a5");
        assertThat(verify(Signer.SLACK, body, secrets, Instant.ofEpochSecond(1_531_420_620))).isInstanceOf(Genuine.class);
        assertThat(verify(Signer.SLACK, body, secrets, Instant.ofEpochSecond(1_531_421_000))).isInstanceOf(Refused.class);
    }

    /** docs.github.com, Validating webhook deliveries. */
    @Test
    void githubAcceptsItsOwnExampleUnderTheIdOfTheDelivery() {
        headers.put("x-github-delivery", List.of("72d3162e-cc78-11e3-81ab-4c9367dc0958"));
        headers.put("x-hub-signature-256", List.of("sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"));
        byte[] body = "Hello, World!".getBytes(StandardCharsets.UTF_8);
        assertThat(verify(Signer.GITHUB, body, List.of("It's a Secret to Everybody"), NOW)).isEqualTo(new Genuine("72d3162e-cc78-11e3-81ab-4c9367dc0958"));
        assertThat(verify(Signer.GITHUB, body, List.of("It's a secret"), NOW)).isInstanceOf(Refused.class);
    }

    @Test
    void shopifySignsTheBodyAlone() throws Exception {
        headers.put("x-shopify-webhook-id", List.of("b54557e4"));
        headers.put("x-shopify-hmac-sha256", List.of(Base64.getEncoder().encodeToString(hmac("new-secret", new String(BODY, StandardCharsets.UTF_8)))));
        assertThat(verify(Signer.SHOPIFY, BODY, SECRETS, NOW)).isEqualTo(new Genuine("b54557e4"));
        assertThat(verify(Signer.SHOPIFY, "{}".getBytes(StandardCharsets.UTF_8), SECRETS, NOW)).isInstanceOf(Refused.class);
    }

    @ParameterizedTest
    @EnumSource(Signer.class)
    void anUnsignedDeliveryIsRefusedAndSaysWhatIsMissing(Signer signer) {
        assertThat(verify(signer, BODY, List.of("c2VjcmV0"), NOW)).isInstanceOfSatisfying(Refused.class, refused -> assertThat(refused.why()).endsWith(" is missing"));
    }
}

package dev.waybill.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Case A35 and reliability.md section 6.2: addresses that are not what they look like. */
class AddressPolicyTest {
    private static final AddressPolicy PUBLIC = AddressPolicy.publicOnly();
    /** Any name is public here, so that whatever is blocked is blocked for its spelling or its own address. */
    private static final Resolver PUBLIC_NAMES = host -> List.of(InetAddress.ofLiteral("8.8.8.8"));

    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://[::ffff:a9fe:a9fe]/", "http://[::ffff:169.254.169.254]/", "http://[::ffff:8.8.8.8]/", "http://2852039166/",
                "http://169.254.169.254/", "http://169.254.169.254./", "http://[fd00:ec2::254]/", "http://[64:ff9b::a9fe:a9fe]/",
                "http://[64:ff9b:1::1]/", "http://[2002:a9fe:a9fe::]/", "http://100.100.100.200/", "http://0.0.0.0/", "http://0/",
                "http://127.0.0.1/", "http://127.1/", "http://127.0.1/", "http://0177.0.0.1/", "http://0x7f.0.0.1/", "http://0x7f000001/",
                "http://2130706433/", "http://127.0.0.1.:80/", "http://127.000.000.001/", "http://10.1.2.3/", "http://172.16.0.1/",
                "http://172.31.255.255/", "http://192.168.1.1/", "http://192.0.0.8/", "http://198.18.0.1/", "http://198.19.255.255/",
                "http://224.0.0.1/", "http://240.0.0.1/", "http://255.255.255.255/", "http://[::]/", "http://[::1]/", "http://[::7f00:1]/",
                "http://[fe80::1]/", "http://[fc00::1]/", "http://[fec0::1]/", "http://[ff02::1]/", "http://[2001::1]/",
                "http://[2001:db8::1]/", "http://[100::1]/", "https://127.0.0.1:8443/", "http://1.2.3.4.5/", "http://1.2.3.256/",
                "http://\uff11\uff12\uff17.0.0.1/", "http://\u2460\u2461\u2466.0.0.1/", "http://127\u30020\u30020\u30021/",
            })
    void anAddressThatIsNotPublicIsBlocked(String url) {
        assertThat(code(PUBLIC, url, PUBLIC_NAMES)).isEqualTo("DESTINATION_BLOCKED");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "", "nothing", "//host/", "file:///etc/passwd", "ftp://host/", "gopher://host/", "http://", "http:///path", "http:/host/",
                "http:host", "http://user@host/", "http://user:pass@host/", "http://host\\@169.254.169.254/", "http://host:0/",
                "http://host:65536/", "http://host:80:80/", "http://host:/", "http://host:8a/", "http://ho st/", " http://host/",
                "http://host/\r\nX: y", "http://host/\u0000", "http://%31%32%37.0.0.1/", "http://[fe80::1%25eth0]/", "http://[::1/",
                "http://[host]/", "http://host../", "http://./"
            })
    void whatIsNotAPlainHttpUrlIsInvalid(String url) {
        assertThat(code(PUBLIC, url, PUBLIC_NAMES)).isEqualTo("PARAM_INVALID");
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://8.8.8.8/", "http://172.32.0.1/", "https://[2600:1901::1]:8443/x?q=1", "http://100.128.0.1/"})
    void aPublicLiteralIsAllowedWithoutALookup(String url) {
        assertThat(AddressPolicy.needsLookup(url)).isFalse();
        assertThat(destination(PUBLIC, url, host -> {
                    throw new AssertionError("asked for " + host);
                }).resolved())
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"169.254.169.254", "127.0.0.1", "10.0.0.1", "100.64.0.1", "fd00:ec2::254", "64:ff9b::a9fe:a9fe", "::1"})
    void oneClosedAddressAmongPublicOnesBlocksTheName(String closed) {
        Resolver mixed = host -> List.of(InetAddress.ofLiteral("8.8.8.8"), InetAddress.ofLiteral(closed));
        assertThat(code(PUBLIC, "http://mixed.test/", mixed)).isEqualTo("DESTINATION_BLOCKED");
        assertThat(AddressPolicy.needsLookup("http://mixed.test/")).isTrue();
    }

    @Test
    void theNameIsResolvedOnceAndItsAddressesArePinned() {
        AtomicInteger asked = new AtomicInteger();
        Resolver rebinding = host -> List.of(InetAddress.ofLiteral(asked.getAndIncrement() == 0 ? "8.8.8.8" : "169.254.169.254"));
        Destination destination = destination(PUBLIC, "http://rebind.test/x", rebinding);
        assertThat(destination.addresses()).containsExactly(InetAddress.ofLiteral("8.8.8.8"));
        assertThat(asked).hasValue(1);
    }

    @Test
    void aNameThatDoesNotResolveIsNotBlockedForGood() {
        Destination destination = destination(PUBLIC, "http://nohost.invalid/", host -> {
            throw new UnknownHostException(host);
        });
        assertThat(destination.resolved()).isFalse();
    }

    @Test
    void aNameIsResolvedInAsciiWithoutItsTrailingDot() {
        Resolver checking = host -> {
            assertThat(host).isEqualTo("xn--bcher-kva.example");
            return List.of(InetAddress.ofLiteral("8.8.8.8"));
        };
        assertThat(destination(PUBLIC, "HTTP://B\u00dcCHER.example.:8080/a?api_key=SECRET123#f", checking))
                .hasToString("http://xn--bcher-kva.example:8080/a");
    }

    @Test
    void anExactPairIsOpenedAndNothingBesideIt() {
        AddressPolicy policy = PUBLIC.allow("127.0.0.1:8080").allow("[::1]:8080").allow("Stub.test:80");
        Resolver loopback = host -> List.of(InetAddress.ofLiteral("127.0.0.1"));
        for (String open : List.of("http://127.0.0.1:8080/", "https://127.0.0.1:8080/", "http://[::1]:8080/", "http://stub.test/")) {
            assertThat(destination(policy, open, loopback).resolved()).isTrue();
        }
        for (String closed : List.of(
                "http://127.0.0.1:8081/", "http://127.0.0.1/", "http://127.0.0.2:8080/", "http://localhost:8080/", "http://other.test:8080/",
                "https://stub.test/", "http://127.1:8080/", "http://2130706433:8080/", "http://[::ffff:127.0.0.1]:8080/")) {
            assertThat(code(policy, closed, loopback)).as(closed).isEqualTo("DESTINATION_BLOCKED");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"false", "FALSE", "0", "", " ", "no", "off", "True-ish", "2"})
    void aFlagThatIsNotOnOpensNothing(String value) {
        assertThat(AddressPolicy.flag(value)).isFalse();
        assertThat(AddressPolicy.flag(null)).isFalse();
        AddressPolicy policy = AddressPolicy.fromConfig(List.of(), AddressPolicy.flag(value));
        assertThat(code(policy, "http://127.0.0.1/", PUBLIC_NAMES)).isEqualTo("DESTINATION_BLOCKED");
    }

    @Test
    void wordsInThePairListOpenNothing() {
        AddressPolicy policy = AddressPolicy.fromConfig(List.of("", " ", "false", "0"), false);
        assertThat(code(policy, "http://127.0.0.1/", PUBLIC_NAMES)).isEqualTo("DESTINATION_BLOCKED");
        for (String bad : List.of("*", "127.0.0.1", "127.0.0.1:*", "10.0.0.0/8:80", "true", "localhost", "host:99999")) {
            assertThatThrownBy(() -> AddressPolicy.fromConfig(List.of(bad), false)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void internalNetworksAreOpenedTogetherButMetadataIsNot() {
        AddressPolicy policy = AddressPolicy.fromConfig(List.of(), true);
        for (String open : List.of("http://127.0.0.1/", "http://10.0.0.1/", "http://192.168.0.1/", "http://[::1]/", "http://[fd12::1]/")) {
            assertThat(destination(policy, open, PUBLIC_NAMES).resolved()).isTrue();
        }
        for (String closed : List.of(
                "http://169.254.169.254/", "http://100.100.100.200/", "http://[fd00:ec2::254]/", "http://0.0.0.0/", "http://224.0.0.1/")) {
            assertThat(code(policy, closed, PUBLIC_NAMES)).as(closed).isEqualTo("DESTINATION_BLOCKED");
        }
    }

    private static String code(AddressPolicy policy, String url, Resolver resolver) {
        return ((AddressPolicy.Verdict.Refused) policy.vet(url, resolver)).problem().code();
    }

    private static Destination destination(AddressPolicy policy, String url, Resolver resolver) {
        return ((AddressPolicy.Verdict.Allowed) policy.vet(url, resolver)).destination();
    }
}

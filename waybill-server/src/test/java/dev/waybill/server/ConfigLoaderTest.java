package dev.waybill.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.server.ServerConfig.Invalid;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConfigLoaderTest {
    private static final Map<String, String> KEY = Map.of("WAYBILL_API_KEY", "a-long-enough-key");

    @TempDir
    Path directory;

    private String file(String yaml) throws IOException {
        return Files.writeString(directory.resolve("waybill.yaml"), yaml).toString();
    }

    private static Map<String, String> with(Map<String, String> environment, String... more) {
        Map<String, String> all = new HashMap<>(environment);
        for (int i = 0; i < more.length; i += 2) {
            all.put(more[i], more[i + 1]);
        }
        return all;
    }

    @Test
    void aFlagWinsOverAVariableOverTheFileOverTheDefault() throws IOException {
        String yaml = file("port: 1001\nlease: 11s\ndrain: 12s\nstore: sqlite:file.db\n");
        Map<String, String> environment = with(KEY, "WAYBILL_PORT", "1002", "WAYBILL_LEASE", "22s", "WAYBILL_CONFIG", "/nowhere.yaml");

        ServerConfig config = ConfigLoader.load(Map.of("config", List.of(yaml), "port", List.of("1003")), environment);

        assertThat(config.port()).isEqualTo(1003);
        assertThat(config.lease()).isEqualTo(Duration.ofSeconds(22));
        assertThat(config.drain()).isEqualTo(Duration.ofSeconds(12));
        assertThat(config.store()).isEqualTo("sqlite:file.db");
        assertThat(config.host()).isEqualTo("127.0.0.1");
    }

    @Test
    void theFileMayBeNamedByAVariable() throws IOException {
        String yaml = file("port: 1001\nallow_addresses: ['127.0.0.1:9000', 'localhost:1']\nrestored: true\n");

        ServerConfig config = ConfigLoader.load(Map.of(), with(KEY, "WAYBILL_CONFIG", yaml));

        assertThat(config.port()).isEqualTo(1001);
        assertThat(config.allowAddresses()).containsExactly("127.0.0.1:9000", "localhost:1");
        assertThat(config.restored()).isTrue();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "prot: 1                                   | prot is not a setting; did you mean port?",
        "api_keys: [{keys: x}]                     | api_keys[0].keys is not a setting; did you mean key?",
        "api_keys: [{name: x}]                     | api_keys[0] needs key_sha256",
        "api_keys: [{key: short}]                  | api_keys[0].key must have at least 8 characters",
        "api_keys: [{key_sha256: abc}]             | api_keys[0].key_sha256 must be 64 hex digits",
        "port: 70000                               | port is 70000",
        "port: {a: 1}                              | port must be a text",
        "pool: 4                                   | pool is about PostgreSQL",
        "lease: soon                               | lease is soon",
        "store: mysql://x                          | store is mysql://x",
        "allow_addresses: ['http://x']             | allow_addresses has http://x",
        "secrets: [a]                              | secrets must be a mapping",
        "- a                                       | must be a mapping",
        "four_eyes: {rules: [{kind: http}]}        | four_eyes needs two principals",
        "four_eyes: {rules: []}                    | four_eyes.rules must be a list",
        "four_eyes: {rules: [{kind: htp}]}         | four_eyes.rules[0].kind is htp",
        "four_eyes: {rules: [{label: amount}]}     | four_eyes.rules[0] needs label and above together",
        "four_eyes: {rules: [{above: '1,000'}]}    | four_eyes.rules[0].above is 1,000",
        "port: 1\\nport: 2                         | is not YAML",
    })
    void aFaultInTheFileIsNamedWithItsPath(String yaml, String message) throws IOException {
        String file = file(yaml.replace("\\n", "\n"));

        assertThatThrownBy(() -> ConfigLoader.load(Map.of("config", List.of(file)), KEY))
                .isInstanceOf(Invalid.class)
                .hasMessageContaining(message);
    }

    @Test
    void anUnknownVariableIsRefusedWithTheNearestName() {
        assertThatThrownBy(() -> ConfigLoader.load(Map.of(), with(KEY, "WAYBILL_STROE", "x")))
                .isInstanceOf(Invalid.class)
                .hasMessage("the variable WAYBILL_STROE is not a setting; did you mean WAYBILL_STORE?");
    }

    @Test
    void withoutAKeyItRefusesToStart() {
        assertThatThrownBy(() -> ConfigLoader.load(Map.of(), Map.of()))
                .isInstanceOf(Invalid.class)
                .hasMessageContaining("WAYBILL_API_KEY")
                .hasMessageContaining("--insecure");
    }

    @ParameterizedTest
    @CsvSource({"0.0.0.0", "::", "192.0.2.1"})
    void insecureListensOnLoopbackOnly(String host) {
        assertThatThrownBy(() -> ConfigLoader.load(Map.of("insecure", List.of("true"), "host", List.of(host)), Map.of()))
                .isInstanceOf(Invalid.class)
                .hasMessageContaining("--insecure");
        assertThat(ConfigLoader.load(Map.of("insecure", List.of("true")), Map.of()).host()).isEqualTo("127.0.0.1");
    }

    @Test
    void theFlightRecorderCanBeMovedSizedAndTurnedOff() {
        assertThat(ConfigLoader.load(Map.of(), KEY).recorder()).isEqualTo(new ServerConfig.Recorder(null, false, 16 << 20));
        assertThat(ConfigLoader.load(Map.of("recorder_dir", List.of("/var/lib/waybill"), "recorder_bytes", List.of("65536")), KEY).recorder())
                .isEqualTo(new ServerConfig.Recorder(Path.of("/var/lib/waybill"), false, 65_536));
        assertThat(ConfigLoader.load(Map.of("recorder_dir", List.of("off")), KEY).recorder().off()).isTrue();
        assertThatThrownBy(() -> ConfigLoader.load(Map.of("recorder_bytes", List.of("100")), KEY))
                .isInstanceOf(Invalid.class)
                .hasMessageContaining("--recorder-bytes");
    }

    @Test
    void keysAreFoundByTheirDigestAndOnlyByIt() throws IOException {
        String digest = ApiKeys.digest("the-tenants-key");
        String yaml = file("api_keys:\n  - {name: shop, tenant: acme, key_sha256: " + digest + "}\n");

        ApiKeys keys = ConfigLoader.load(Map.of("config", List.of(yaml)), KEY).keys();

        assertThat(keys.find("the-tenants-key")).get().extracting(ApiKeys.Key::name, ApiKeys.Key::tenant).containsExactly("shop", "acme");
        assertThat(keys.find("a-long-enough-key")).get().extracting(ApiKeys.Key::tenant).isNull();
        assertThat(keys.find(digest)).isEmpty();
        assertThat(keys.find("")).isEmpty();
        assertThat(keys.find(null)).isEmpty();
    }

    @Test
    void destinationsAreReadAndAFaultOfTheirsNamesItsPlace() throws IOException {
        String good = file("destinations:\n  - {name: pay, tenant: acme, match: {url: 'https://api.pay.example/v1'}, preset: stripe, settle: 90s}\n");
        ServerConfig config = ConfigLoader.load(Map.of("config", List.of(good)), KEY);
        assertThat(config.destinations().forTenant("acme").find("http_request", "http_request https://api.pay.example/v1/charges")).isNotNull();
        assertThat(config.destinations().forTenant("other").find("http_request", "http_request https://api.pay.example/v1/charges")).isNull();

        String bad = file("destinations:\n  - {name: pay, match: {url: 'https://api.pay.example'}, presett: stripe}\n");
        assertThatThrownBy(() -> ConfigLoader.load(Map.of("config", List.of(bad)), KEY))
                .isInstanceOf(ServerConfig.Invalid.class)
                .hasMessageContainingAll("destinations", "/destinations/0/presett", "did you mean preset");
    }

    @Test
    void aTenantsSecretComesBeforeEverybodys() throws IOException {
        String yaml = file("secrets: {A: file-a, B: file-b}\ntenant_secrets: {acme: {A: acme-a}}\n");

        ServerConfig config = ConfigLoader.load(Map.of("config", List.of(yaml)), with(KEY, "WAYBILL_SECRET_B", "env-b"));

        assertThat(config.secretSource().secret("acme", "A")).contains("acme-a");
        assertThat(config.secretSource().secret("other", "A")).contains("file-a");
        assertThat(config.secretSource().secret("acme", "B")).contains("env-b");
        assertThat(config.secretSource().secret("acme", "C")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "postgresql://u:p%40ss:w@h:1/db,      postgresql://u:***@h:1/db",
        "postgresql://u@h/db?password=secret, postgresql://u@h/db?password=***",
        "postgresql://u@h/db,                 postgresql://u@h/db",
        "sqlite:./a@b.db,                     sqlite:./a@b.db",
    })
    void theStoreIsShownWithoutItsPassword(String url, String shown) {
        assertThat(ServerConfig.withoutPassword(url)).isEqualTo(shown);
    }

    @Test
    void escalationIsAgesAndSumsOrNone() {
        java.util.function.BiFunction<String, String, ServerConfig.Escalation> load = (after, amounts) -> ConfigLoader.load(
                Map.of("insecure", List.of("true"), "escalate_after", List.of(after), "escalate_amounts", List.of(amounts)), Map.of()).escalation();
        assertThat(load.apply("15m, 1d", "EUR=1000.50,USD=5").ages()).containsExactly(Duration.ofMinutes(15), Duration.ofDays(1));
        assertThat(load.apply("1h", "EUR=1000.50,USD=5").amounts()).containsEntry("EUR", new java.math.BigDecimal("1000.50")).hasSize(2);
        assertThat(load.apply("none", "none")).isEqualTo(new ServerConfig.Escalation(List.of(), Map.of()));
        assertThatThrownBy(() -> load.apply("soon", "none")).isInstanceOf(ServerConfig.Invalid.class).hasMessageContaining("--escalate-after has soon");
        assertThatThrownBy(() -> load.apply("1h", "EUR 5")).isInstanceOf(ServerConfig.Invalid.class).hasMessageContaining("--escalate-amounts");
    }
}

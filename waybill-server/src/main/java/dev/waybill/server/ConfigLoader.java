package dev.waybill.server;

import dev.waybill.EngineOptions;
import dev.waybill.definition.Destinations;
import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.model.EffectKind;
import dev.waybill.operate.FourEyes;
import dev.waybill.recorder.Flights;
import dev.waybill.server.ServerConfig.Invalid;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.StringNode;
import tools.jackson.dataformat.yaml.YAMLFactory;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * Reads the configuration: flags before {@code WAYBILL_*} variables before the YAML file before the defaults. A name that nobody
 * knows is an error with its path and the nearest known one, in the file and in the environment alike: a misspelt setting that is
 * ignored is a setting that is not there when it counts.
 */
public final class ConfigLoader {
    private static final List<String> SETTINGS = List.of(
            "host", "port", "store", "insecure", "node_dir", "recorder_dir", "recorder_bytes", "node_name", "drain", "lease", "allow_addresses", "restored",
            "accept_commit_loss", "pool", "escalate_after", "escalate_amounts");
    private static final List<String> FILE_ONLY = List.of("api_keys", "secrets", "tenant_secrets", "destinations", "four_eyes");
    /** Variables that are not settings of the server: the client's, the launcher's, and those with their own handling below. */
    private static final List<String> OTHER_VARIABLES = List.of(
            "WAYBILL_CONFIG", "WAYBILL_API_KEY", "WAYBILL_ALLOW_ADDRESS", "WAYBILL_URL", "WAYBILL_TENANT", "WAYBILL_JAVA_HOME",
            "WAYBILL_JAVA_OPTS");
    private static final String SECRET = "WAYBILL_SECRET_";
    private static final Pattern DURATION = Pattern.compile("(\\d{1,12})\\s*(ms|s|m|h|d)?");
    private static final int MIN_KEY_LENGTH = 8;

    /** A value and where it was written, for messages. */
    private record Found(JsonNode value, String where) {}

    private final Map<String, Found> found = new HashMap<>();
    private final List<ApiKeys.Key> keys = new ArrayList<>();
    private final Map<String, Map<String, String>> secrets = new TreeMap<>();
    private FourEyes fourEyes = FourEyes.NONE;

    private Destinations destinations = Destinations.NONE;

    private ConfigLoader() {}

    /**
     * @param flags       by setting name ({@code port}, {@code allow_addresses} ..); what was not given is absent
     * @param environment all variables; only {@code WAYBILL_*} are looked at
     * @throws Invalid when anything cannot be used
     */
    public static ServerConfig load(Map<String, List<String>> flags, Map<String, String> environment) {
        ConfigLoader loader = new ConfigLoader();
        List<String> files = flags.getOrDefault("config", List.of());
        String file = files.isEmpty() ? environment.get("WAYBILL_CONFIG") : files.getFirst();
        if (file != null) {
            loader.readFile(Path.of(file));
        }
        loader.readEnvironment(environment);
        flags.forEach((name, values) -> {
            if (!name.equals("config")) {
                loader.found.put(name, new Found(texts(values), "--" + name.replace('_', '-').replace("addresses", "address")));
            }
        });
        return loader.build(environment);
    }

    private void readFile(Path file) {
        YAMLMapper yaml = YAMLMapper.builder(
                        YAMLFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build())
                .build();
        JsonNode root;
        try {
            root = yaml.readTree(Files.readString(file));
        } catch (IOException e) {
            throw new Invalid("the configuration file " + file + " cannot be read: " + e.getMessage());
        } catch (JacksonException e) {
            throw new Invalid("the configuration file " + file + " is not YAML: " + e.getOriginalMessage() + " at line "
                    + e.getLocation().getLineNr());
        }
        if (root.isMissingNode() || root.isNull()) {
            return;
        }
        mapping(root, file + ":");
        for (Map.Entry<String, JsonNode> entry : root.properties()) {
            String name = entry.getKey();
            String where = file + ": " + name;
            if (SETTINGS.contains(name)) {
                found.put(name, new Found(entry.getValue(), where));
            } else {
                switch (name) {
                    case "api_keys" -> readKeys(entry.getValue(), where);
                    case "destinations" -> readDestinations(entry.getValue(), where);
                    case "secrets" -> readSecrets("", entry.getValue(), where);
                    case "four_eyes" -> fourEyes = readFourEyes(entry.getValue(), where);
                    case "tenant_secrets" -> {
                        mapping(entry.getValue(), where);
                        entry.getValue().properties().forEach(t -> readSecrets(t.getKey(), t.getValue(), where + "." + t.getKey()));
                    }
                    default -> throw unknown(where, name, SETTINGS, FILE_ONLY);
                }
            }
        }
    }

    private void readKeys(JsonNode list, String where) {
        if (!list.isArray()) {
            throw new Invalid(where + " must be a list of {key_sha256 | key, tenant, name}");
        }
        for (int i = 0; i < list.size(); i++) {
            String at = where + "[" + i + "]";
            JsonNode item = list.get(i);
            mapping(item, at);
            for (Map.Entry<String, JsonNode> field : item.properties()) {
                if (!List.of("key_sha256", "key", "tenant", "name").contains(field.getKey())) {
                    throw unknown(at + "." + field.getKey(), field.getKey(), List.of("key_sha256", "key", "tenant", "name"), List.of());
                }
            }
            String name = text(item.get("name"), at + ".name", "key-" + (i + 1));
            String tenant = item.has("tenant") ? text(item.get("tenant"), at + ".tenant", "") : null;
            if (item.has("key") == item.has("key_sha256")) {
                throw new Invalid(at + " needs key_sha256 (preferred) or key, one of the two");
            }
            if (item.has("key")) {
                keys.add(ApiKeys.Key.ofSecret(name, tenant, longEnough(text(item.get("key"), at + ".key", ""), at + ".key")));
            } else {
                String digest = text(item.get("key_sha256"), at + ".key_sha256", "").toLowerCase(Locale.ROOT);
                if (!digest.matches("[0-9a-f]{64}")) {
                    throw new Invalid(at + ".key_sha256 must be 64 hex digits: printf %s KEY | sha256sum");
                }
                keys.add(new ApiKeys.Key(name, tenant, digest));
            }
        }
    }

    private void readDestinations(JsonNode list, String where) {
        try {
            destinations = Destinations.ofNode(Json.parse(list.toString()));
        } catch (WaybillException e) {
            throw new Invalid(where + ": " + e.getMessage());
        }
    }

    private static FourEyes readFourEyes(JsonNode node, String where) {
        known(node, where, List.of("expiry", "rules"));
        String text = text(node.get("expiry"), where + ".expiry", "24h");
        Duration expiry = parseDuration(text);
        if (expiry == null || expiry.compareTo(Duration.ofMinutes(1)) < 0 || expiry.compareTo(Duration.ofDays(30)) > 0) {
            throw new Invalid(where + ".expiry is " + text + "; write a duration from 1m to 30d");
        }
        List<FourEyes.Rule> rules = new ArrayList<>();
        if (!node.path("rules").isArray() || node.path("rules").isEmpty()) {
            throw new Invalid(where + ".rules must be a list of {name, tenant, kind, destination, label, above}");
        }
        for (JsonNode rule : node.path("rules")) {
            rules.add(readRule(rule, where + ".rules[" + rules.size() + "]"));
        }
        return new FourEyes(List.copyOf(rules), expiry);
    }

    private static FourEyes.Rule readRule(JsonNode rule, String at) {
        known(rule, at, List.of("name", "tenant", "kind", "destination", "label", "above"));
        String kind = given(rule, "kind", at);
        if (kind != null && Arrays.stream(EffectKind.values()).noneMatch(one -> one.wire().equals(kind))) {
            throw new Invalid(at + ".kind is " + kind + Nearest.hint(kind, Arrays.stream(EffectKind.values()).map(EffectKind::wire).toList()));
        }
        String above = given(rule, "above", at);
        if (above != null && !above.matches("\\d{1,30}(\\.\\d{1,18})?")) {
            throw new Invalid(at + ".above is " + above + "; write an amount such as \"1000.00\", in quotes");
        }
        String label = given(rule, "label", at);
        if ((label == null) != (above == null)) {
            throw new Invalid(at + " needs label and above together");
        }
        String name = given(rule, "name", at);
        return new FourEyes.Rule(
                name == null ? at.substring(at.lastIndexOf('.') + 1) : name, given(rule, "tenant", at), kind,
                given(rule, "destination", at), label, above == null ? null : new BigDecimal(above));
    }

    private static void known(JsonNode node, String where, List<String> names) {
        mapping(node, where);
        for (Map.Entry<String, JsonNode> field : node.properties()) {
            if (!names.contains(field.getKey())) {
                throw unknown(where + "." + field.getKey(), field.getKey(), names, List.of());
            }
        }
    }

    private static @Nullable String given(JsonNode node, String name, String where) {
        return node.has(name) ? text(node.get(name), where + "." + name, "") : null;
    }

    private void readSecrets(String tenant, JsonNode mapping, String where) {
        mapping(mapping, where);
        mapping.properties().forEach(entry -> secrets
                .computeIfAbsent(tenant, t -> new TreeMap<>())
                .put(entry.getKey(), text(entry.getValue(), where + "." + entry.getKey(), "")));
    }

    private void readEnvironment(Map<String, String> environment) {
        new TreeMap<>(environment).forEach((variable, value) -> {
            if (!variable.startsWith("WAYBILL_")) {
                return;
            }
            String name = variable.substring("WAYBILL_".length()).toLowerCase(Locale.ROOT);
            if (variable.startsWith(SECRET) && variable.length() > SECRET.length()) {
                secrets.computeIfAbsent("", t -> new TreeMap<>()).put(variable.substring(SECRET.length()), value);
            } else if (variable.equals("WAYBILL_API_KEY")) {
                keys.add(ApiKeys.Key.ofSecret("env", null, longEnough(value, variable)));
            } else if (variable.equals("WAYBILL_ALLOW_ADDRESS") || variable.equals("WAYBILL_ALLOW_ADDRESSES")) {
                List<String> items = Arrays.stream(value.split(",")).map(String::strip).filter(s -> !s.isEmpty()).toList();
                found.put("allow_addresses", new Found(texts(items), variable));
            } else if (SETTINGS.contains(name) && variable.equals("WAYBILL_" + name.toUpperCase(Locale.ROOT))) {
                found.put(name, new Found(StringNode.valueOf(value), variable));
            } else if (!OTHER_VARIABLES.contains(variable)) {
                List<String> known = new ArrayList<>(OTHER_VARIABLES);
                SETTINGS.forEach(s -> known.add("WAYBILL_" + s.toUpperCase(Locale.ROOT)));
                throw unknown("the variable " + variable, variable, known, List.of());
            }
        });
    }

    private ServerConfig build(Map<String, String> environment) {
        return new ServerConfig(
                text("host", "127.0.0.1"),
                number("port", 8080, 0, 65_535),
                store(),
                flag("insecure"),
                new ApiKeys(List.copyOf(keys)),
                secrets,
                found.containsKey("node_dir") ? Path.of(text("node_dir", "")) : nodeDirectory(store(), environment),
                recorder(),
                found.containsKey("node_name") ? text("node_name", "") : null,
                duration("drain", EngineOptions.DEFAULT.drain(), Duration.ZERO, Duration.ofHours(1)),
                duration("lease", EngineOptions.DEFAULT.lease(), Duration.ofSeconds(1), Duration.ofHours(1)),
                addresses(),
                flag("restored"),
                flag("accept_commit_loss"),
                found.containsKey("pool") ? number("pool", 0, 2, 1_000) : null,
                destinations,
                fourEyes,
                escalation());
    }

    private ServerConfig.Recorder recorder() {
        String folder = text("recorder_dir", "");
        boolean off = folder.equals("off");
        return new ServerConfig.Recorder(
                folder.isEmpty() || off ? null : Path.of(folder), off,
                number("recorder_bytes", (int) Flights.DEFAULT_BYTES, (int) Flights.MIN_BYTES, (int) Flights.MAX_BYTES / 2));
    }

    /**
     * Nodes on PostgreSQL keep their locks where a user's programs keep state, a directory for each database: a restart after a kill then
     * goes on at once. A SQLite file has its own lock.
     */
    private static @Nullable Path nodeDirectory(String store, Map<String, String> environment) {
        String home = environment.get("HOME");
        if (store.startsWith("sqlite:") || home == null || home.isBlank()) {
            return null;
        }
        String state = environment.get("XDG_STATE_HOME");
        Path base = state == null || state.isBlank() ? Path.of(home, ".local", "state") : Path.of(state);
        String database = ServerConfig.withoutPassword(store);
        return base.resolve("waybill").resolve(UUID.nameUUIDFromBytes(database.getBytes(StandardCharsets.UTF_8)).toString());
    }

    /** Ages such as {@code 1h,1d} and sums such as {@code EUR=10000,USD=5000}; {@code none} for neither. */
    private ServerConfig.Escalation escalation() {
        List<Duration> ages = new ArrayList<>();
        for (String item : list("escalate_after", "1h,1d")) {
            Duration age = parseDuration(item);
            if (age == null || age.isNegative() || age.isZero()) {
                throw new Invalid(where("escalate_after") + " has " + item + "; write durations such as 1h,1d, or none");
            }
            ages.add(age);
        }
        Map<String, BigDecimal> amounts = new TreeMap<>();
        for (String item : list("escalate_amounts", "none")) {
            Matcher matcher = Pattern.compile("([A-Za-z]{3,12})=(\\d{1,20}(?:\\.\\d{1,10})?)").matcher(item);
            if (!matcher.matches()) {
                throw new Invalid(where("escalate_amounts") + " has " + item + "; write CURRENCY=AMOUNT, separated by commas, or none");
            }
            amounts.put(matcher.group(1), new BigDecimal(matcher.group(2)));
        }
        return new ServerConfig.Escalation(List.copyOf(ages), Map.copyOf(amounts));
    }

    private List<String> list(String name, String otherwise) {
        String text = text(name, otherwise).strip();
        return text.equals("none") ? List.of() : List.of(text.split("\\s*,\\s*"));
    }

    private String store() {
        String store = text("store", "sqlite:./waybill.db");
        boolean sqlite = store.startsWith("sqlite:") && store.length() > "sqlite:".length();
        if (!sqlite && !store.startsWith("postgresql://") && !store.startsWith("postgres://")) {
            throw new Invalid(where("store") + " is " + ServerConfig.withoutPassword(store)
                    + "; write sqlite:FILE or postgresql://USER[:PASS]@HOST:PORT/DB");
        }
        return store;
    }

    private List<String> addresses() {
        Found given = found.get("allow_addresses");
        if (given == null) {
            return List.of();
        }
        List<String> list = new ArrayList<>();
        for (JsonNode item : given.value().isArray() ? given.value() : texts(List.of(text("allow_addresses", "")))) {
            String address = text(item, given.where(), "");
            Matcher matcher = Pattern.compile("(\\[[0-9a-fA-F:.]+]|[^:\\s/@]+):(\\d{1,5})").matcher(address);
            if (!matcher.matches() || Integer.parseInt(matcher.group(2)) > 65_535) {
                throw new Invalid(given.where() + " has " + address + "; write an exact HOST:PORT");
            }
            list.add(address);
        }
        return list;
    }

    private String where(String name) {
        Found given = found.get(name);
        return given == null ? name : given.where();
    }

    private String text(String name, String otherwise) {
        Found given = found.get(name);
        return given == null ? otherwise : text(given.value(), given.where(), otherwise);
    }

    private static String text(@Nullable JsonNode value, String where, String otherwise) {
        if (value == null) {
            return otherwise;
        }
        JsonNode one = value.isArray() && !value.isEmpty() ? value.get(value.size() - 1) : value;
        if (!one.isValueNode() || one.isNull() || one.asString().isBlank()) {
            throw new Invalid(where + " must be a text that is not empty");
        }
        return one.asString();
    }

    private int number(String name, int otherwise, int min, int max) {
        String text = text(name, Integer.toString(otherwise));
        if (!found.containsKey(name)) {
            return otherwise;
        }
        if (!text.matches("\\d{1,9}") || Integer.parseInt(text) < min || Integer.parseInt(text) > max) {
            throw new Invalid(where(name) + " is " + text + "; it must be a number from " + min + " to " + max);
        }
        return Integer.parseInt(text);
    }

    private boolean flag(String name) {
        String text = text(name, "false").toLowerCase(Locale.ROOT);
        return switch (text) {
            case "true", "1", "yes", "on" -> true;
            case "false", "0", "no", "off" -> false;
            default -> throw new Invalid(where(name) + " is " + text + "; it must be true or false");
        };
    }

    private Duration duration(String name, Duration otherwise, Duration min, Duration max) {
        if (!found.containsKey(name)) {
            return otherwise;
        }
        String text = text(name, "");
        Duration value = parseDuration(text);
        if (value == null || value.compareTo(min) < 0 || value.compareTo(max) > 0) {
            throw new Invalid(where(name) + " is " + text + "; write a duration such as 20s or PT20S, from " + min.toSeconds()
                    + "s to " + max.toSeconds() + "s");
        }
        return value;
    }

    private static @Nullable Duration parseDuration(String text) {
        Matcher matcher = DURATION.matcher(text.strip());
        if (matcher.matches()) {
            long amount = Long.parseLong(matcher.group(1));
            String unit = matcher.group(2);
            return switch (unit == null ? "ms" : unit) {
                case "s" -> Duration.ofSeconds(amount);
                case "m" -> Duration.ofMinutes(amount);
                case "h" -> Duration.ofHours(amount);
                case "d" -> Duration.ofDays(amount);
                default -> Duration.ofMillis(amount);
            };
        }
        try {
            return Duration.parse(text.strip());
        } catch (DateTimeParseException e) {
            return null;
        }
    }

    private static String longEnough(String key, String where) {
        if (key.length() < MIN_KEY_LENGTH || !key.equals(key.strip())) {
            throw new Invalid(where + " must have at least " + MIN_KEY_LENGTH + " characters and no white space around it");
        }
        return key;
    }

    private static void mapping(JsonNode node, String where) {
        if (!node.isObject()) {
            throw new Invalid(where + " must be a mapping");
        }
    }

    private static JsonNode texts(List<String> values) {
        var array = JsonNodeFactory.instance.arrayNode();
        values.forEach(array::add);
        return array;
    }

    private static Invalid unknown(String where, String name, List<String> known, List<String> more) {
        List<String> all = new ArrayList<>(known);
        all.addAll(more);
        return new Invalid(where + " is not a setting" + Nearest.hint(name, all));
    }
}

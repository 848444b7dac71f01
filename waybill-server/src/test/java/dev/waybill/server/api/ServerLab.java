package dev.waybill.server.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.server.ConfigLoader;
import dev.waybill.server.Server;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import dev.waybill.test.FakeProvider;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;

/** A whole server on a fresh SQLite file beside a real provider; every answer is held against the schema its endpoint promises. */
public final class ServerLab implements AutoCloseable {
    public final FakeProvider provider = FakeProvider.start();
    public final Server server;
    private final Http http;
    private final Body bodies = new Body(new Schemas());
    private final TreeSet<String> answered = new TreeSet<>();

    /** @param environment may name another store than the SQLite file in {@code directory} */
    public ServerLab(Path directory, Map<String, String> environment) {
        Map<String, List<String>> flags = new HashMap<>();
        flags.put("port", List.of("0"));
        if (!environment.containsKey("WAYBILL_STORE")) {
            flags.put("store", List.of("sqlite:" + directory.resolve("waybill.db")));
        }
        flags.put("allow_addresses", List.of("127.0.0.1:" + provider.port()));
        if (!environment.containsKey("WAYBILL_CONFIG")) {
            flags.put("insecure", List.of("true"));
        }
        server = Server.start(ConfigLoader.load(flags, environment), InstantSource.system(), builder -> builder);
        http = new Http(server.port());
    }

    public Http http() {
        return http;
    }

    public Http.Answer get(String path, String... headers) {
        return checked("GET", path, http.get(path, headers));
    }

    public Http.Answer post(String path, String json, String... headers) {
        return checked("POST", path, http.post(path, json.replace('\'', '"').replace("$P", provider.url("")), headers));
    }

    /** @return the operations that answered with success */
    TreeSet<String> answered() {
        return answered;
    }

    private Http.Answer checked(String method, String path, Http.Answer answer) {
        Endpoint endpoint = server.api().endpoints().stream()
                .filter(e -> e.method().equals(method) && matches(e.path(), path.replaceFirst("\\?.*", "")))
                .findFirst()
                .orElseThrow();
        if (answer.status() >= 400 && !endpoint.operationId().equals("ready")) {
            answer.isProblem();
            assertThat(endpoint.refusals.contains(answer.status()) || List.of(400, 401, 403, 413, 415, 503).contains(answer.status()))
                    .as("%s may answer %d: %s", endpoint, answer.status(), answer.text())
                    .isTrue();
            return answer;
        }
        answered.add(endpoint.operationId());
        Endpoint.Answer promised = endpoint.answers.stream()
                .filter(a -> a.status() == answer.status() && answer.header("content-type").startsWith(a.mediaType()))
                .findFirst()
                .orElseThrow(() -> new AssertionError(endpoint + " does not say that it answers " + answer.status() + ": " + answer.text()));
        if (promised.schema() != null) {
            assertThat(bodies.errors(promised.schema(), answer.json())).as("%s %s", endpoint, answer.text()).isEmpty();
        }
        return answer;
    }

    private static boolean matches(String template, String path) {
        String pattern = Pattern.compile("\\{\\w+}").splitAsStream(template).map(Pattern::quote).collect(Collectors.joining("[^/]+"));
        return path.matches(pattern + (template.endsWith("}") ? "[^/]+" : ""));
    }

    // --- what tests need often --------------------------------------------------------------------------------------------------

    /** A step that charges the provider; {@code more} are further members. */
    public static String charge(String more) {
        return "{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'$P/charges',"
                + "'body':{'order':'= data.order','amount':5}},'timeout':2000,'effect':{'labels':{'order':'= data.order'}}" + more + "}";
    }

    /** Publishes; blocks in single quotes. @return its id */
    public String sequence(String name, String blocks, String... headers) {
        Http.Answer answer = post("/api/v1/sequences", "{'name':'" + name + "','blocks':[" + blocks + "]}", headers);
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        return answer.json().path("id").asString();
    }

    public String start(String name, String data, String... headers) {
        Http.Answer answer = post("/api/v1/instances", "{'sequence_name':'" + name + "','context':{'data':" + data + "}}", headers);
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        return answer.json().path("id").asString();
    }

    /** Waits until the run has ended or needs somebody. */
    public JsonNode await(String id, String state, String... headers) {
        for (int tries = 0; ; tries++) {
            JsonNode run = get("/api/v1/instances/" + id + "?wait_ms=10000", headers).json();
            if (run.path("state").asString().equals(state) || tries == 5) {
                assertThat(run.path("state").asString()).as(Json.write(run)).isEqualTo(state);
                return run;
            }
        }
    }

    /** A run whose charge got no answer; labels say 12.50 EUR of order o-1. @return the effect's id */
    public String unknownEffect() {
        provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
        sequence("unknown", charge(",'on_unknown':'wait'").replace("'labels':{", "'labels':{'amount':'12.50','currency':'EUR',"));
        return effectOf(awaitWaiting(start("unknown", "{'order':'o-1'}"))).path("effect_id").asString();
    }

    private String awaitWaiting(String run) {
        await(run, "waiting");
        return run;
    }

    /** The one effect of a run. */
    public JsonNode effectOf(String run, String... headers) {
        JsonNode items = get("/api/v1/instances/" + run + "/effects", headers).json().path("items");
        assertThat(items).hasSize(1);
        return items.get(0);
    }

    @Override
    public void close() {
        provider.releaseAll();
        server.close();
        provider.close();
    }
}

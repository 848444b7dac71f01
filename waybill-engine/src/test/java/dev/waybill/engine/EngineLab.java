package dev.waybill.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.EngineOptions;
import dev.waybill.Waybill;
import dev.waybill.handler.Handler;
import dev.waybill.json.Json;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.operate.RunView;
import dev.waybill.operate.StartRequest;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.Store;
import dev.waybill.store.memory.MemoryStore;
import dev.waybill.store.postgres.PostgresStore;
import dev.waybill.store.sqlite.SqliteConfig;
import dev.waybill.store.sqlite.SqliteStore;
import dev.waybill.test.FakeProvider;
import dev.waybill.test.TestPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.UnaryOperator;
import tools.jackson.databind.JsonNode;

/** A whole engine on a fresh store beside a real provider. */
final class EngineLab implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(30);

    enum Kind {
        MEMORY,
        SQLITE,
        POSTGRES
    }

    final FakeProvider provider;
    private final Kind kind;
    private final Path directory;
    private final TestPostgres.Database database;
    private final MemoryStore memory;
    private final Map<String, Handler> handlers = new HashMap<>();
    private final Map<String, String> secrets = new HashMap<>();
    private dev.waybill.json.SecretSource source = (tenant, name) -> java.util.Optional.ofNullable(secrets.get(name));
    private final List<String> allowed = new ArrayList<>();
    private EngineOptions options = EngineOptions.DEFAULT.withLease(Duration.ofSeconds(4), Duration.ofSeconds(1));
    private CrashPoints points = CrashPoints.NONE;
    private InstantSource wall = InstantSource.system();
    private dev.waybill.definition.Destinations destinations = dev.waybill.definition.Destinations.NONE;
    private Waybill engine;

    EngineLab(Kind kind) {
        this(kind, FakeProvider.start());
    }

    /** @param provider closed with the lab */
    EngineLab(Kind kind, FakeProvider provider) {
        this.kind = kind;
        this.provider = provider;
        try {
            this.directory = Files.createTempDirectory("waybill-engine-lab");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        this.database = kind == Kind.POSTGRES ? TestPostgres.database() : null;
        this.memory = kind == Kind.MEMORY ? new MemoryStore(InstantSource.system()) : null;
        allow("127.0.0.1:" + provider.port());
    }

    static EngineLab memory() {
        return new EngineLab(Kind.MEMORY);
    }

    EngineLab handler(String name, Handler handler) {
        handlers.put(name, handler);
        return this;
    }

    EngineLab secret(String name, String value) {
        secrets.put(name, value);
        return this;
    }

    EngineLab secrets(dev.waybill.json.SecretSource source) {
        this.source = source;
        return this;
    }

    EngineLab allow(String hostPort) {
        allowed.add(hostPort);
        return this;
    }

    EngineLab options(UnaryOperator<EngineOptions> change) {
        options = change.apply(options);
        return this;
    }

    /** What engines opened from now on know of destinations. */
    EngineLab destinations(String list) {
        destinations = dev.waybill.definition.Destinations.ofNode(json(list.replace("$P", provider.url(""))));
        return this;
    }

    /** The node's wall clock; the database's stays true. */
    EngineLab clock(InstantSource wall) {
        this.wall = wall;
        return this;
    }

    EngineLab points(CrashPoints points) {
        this.points = points;
        return this;
    }

    Store openStore() {
        return switch (kind) {
            case MEMORY -> memory;
            case SQLITE -> new SqliteStore(SqliteConfig.of(directory.resolve("waybill.db")), InstantSource.system());
            case POSTGRES -> PostgresStore.open(database.waybillUrl());
        };
    }

    TestPostgres.Database database() {
        return database;
    }

    /** Another engine on the same store; the caller closes it. */
    Waybill another() {
        Waybill.Builder builder = Waybill.store(openStore())
                .options(options.withAcceptLossOnWeakStore(kind == Kind.MEMORY))
                .allowAddresses(allowed)
                .crashPoints(points)
                .clock(wall)
                .destinations(destinations)
                .secrets((tenant, name) -> source.secret(tenant, name));
        handlers.forEach(builder::handler);
        return builder.open();
    }

    Waybill engine() {
        if (engine == null) {
            engine = another();
        }
        return engine;
    }

    /** Closes the engine (a drain) and opens a new one on the same store. */
    Waybill restart() {
        if (engine != null) {
            engine.close();
            engine = null;
        }
        return engine();
    }

    /** JSON with ' for " and ~ for '. */
    static JsonNode json(String text) {
        return Json.parse(text.replace('\'', '"').replace('~', '\''));
    }

    java.nio.file.Path directory() {
        return directory;
    }

    /** Publishes {@code blocks} as a sequence of that name. */
    EngineLab sequence(String name, String blocks) {
        return sequence(name, blocks, "");
    }

    EngineLab sequence(String name, String blocks, String more) {
        engine().sequences().publish("default", json("{'name':'" + name + "'," + more.replace("$P", provider.url("")) + "'blocks':" + blocks.replace("$P", provider.url("")) + "}"));
        return this;
    }

    /** A default step of the field cases: POST, three attempts, 10 ms backoff, 2 s timeout; {@code more} are further members. */
    static String charge(String path, String more) {
        return "{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'$P" + path
                + "','body':{'amount':5}},'retry':{'max_attempts':3,'initial_backoff':10},'timeout':2000" + more + "}";
    }

    UUID start(String name, String data) {
        return engine().runs().start(StartRequest.of(name, json(data))).id();
    }

    RunView run(String name, String data) {
        return await(start(name, data));
    }

    RunView await(UUID id) {
        return engine().runs().await("default", id, PATIENCE);
    }

    RunView get(UUID id) {
        return engine().runs().get("default", id);
    }

    List<EffectView> effects(UUID id) {
        return engine().runs().effects("default", id).stream()
                .sorted(Comparator.comparing((EffectView e) -> e.receipt().path()).thenComparing(e -> e.receipt().attempt()))
                .toList();
    }

    List<String> states(UUID id) {
        return effects(id).stream().map(e -> e.receipt().path() + "#" + e.receipt().attempt() + " " + e.state().wire()).toList();
    }

    /** The rows of its blocks, as {@code path KIND}; on the model store only, whose engine may be asked from inside a handler. */
    List<String> rows(UUID id) {
        return memory.load(new InstanceKey("default", id)).orElseThrow().rows().stream().map(r -> r.path() + " " + r.kind()).toList();
    }

    long unresolved() {
        return engine().queries().openDepth().stream().mapToLong(d -> d.depth()).sum();
    }

    void assertCompleted(RunView run) {
        assertThat(run.state()).as("%s", run).isEqualTo(InstanceState.COMPLETED);
    }

    void assertWaitsUnknown(RunView run) {
        assertThat(run.state()).as("%s", run).isEqualTo(InstanceState.WAITING);
        assertThat(run.reasons().get(0).get("reason").asString()).isEqualTo("effect_unknown");
        assertThat(effects(run.id()).getLast().state()).isEqualTo(EffectState.UNKNOWN);
    }

    static InstanceKey key(UUID id) {
        return new InstanceKey("default", id);
    }

    @Override
    public void close() {
        if (engine != null) {
            engine.close();
        }
        provider.close();
        if (database != null) {
            database.drop();
        }
        try (var files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

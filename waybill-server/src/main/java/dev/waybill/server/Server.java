package dev.waybill.server;

import dev.waybill.EngineOptions;
import dev.waybill.Waybill;
import dev.waybill.server.api.Api;
import dev.waybill.server.api.Backend;
import dev.waybill.server.webhook.WebhookSender;
import dev.waybill.server.webhook.Webhooks;
import dev.waybill.store.postgres.PostgresConfig;
import dev.waybill.store.postgres.PostgresStore;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.HttpTransport;
import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A running server: the engine, its metrics and its API. Closing drains. */
public final class Server implements AutoCloseable {
    private final Waybill engine;
    private final Metrics metrics;
    private final Api api;
    private final @Nullable WebhookSender sender;
    private final @Nullable Escalator escalator;

    private Server(Waybill engine, Metrics metrics, Api api, @Nullable WebhookSender sender, @Nullable Escalator escalator) {
        this.engine = engine;
        this.metrics = metrics;
        this.api = api;
        this.sender = sender;
        this.escalator = escalator;
    }

    /**
     * Migrates, starts the engine, then listens.
     *
     * @param custom a last word on the engine: more handlers, for example
     */
    public static Server start(ServerConfig config, InstantSource clock, UnaryOperator<Waybill.Builder> custom) {
        Metrics metrics = new Metrics(clock);
        Waybill.Builder builder = store(config)
                .options(options(config))
                .secrets(config.secretSource())
                .allowAddresses(config.allowAddresses())
                .destinations(config.destinations())
                .fourEyes(config.fourEyes())
                .meter(metrics);
        if (config.nodeName() != null) {
            builder.nodeName(config.nodeName());
        }
        if (config.nodeDirectory() != null) {
            builder.nodeDirectory(config.nodeDirectory());
        }
        builder.flightRecorderBytes(config.recorder().bytes());
        if (config.recorder().folder() != null) {
            builder.flightRecorder(config.recorder().folder());
        }
        if (config.recorder().off()) {
            builder.withoutFlightRecorder();
        }
        Waybill engine = custom.apply(builder).open();
        try {
            HttpTransport transport = new HttpTransport(AddressPolicy.fromConfig(config.allowAddresses(), false));
            SecureRandom random = new SecureRandom();
            Backend backend = Backend.of(engine, new Webhooks(engine.webhooks(), engine.queries(), transport, clock, random));
            Api api = new Api(
                            backend, config.keys(), config.keys().none(), clock, () -> metrics.scrape(backend.queries(), backend.destinations(), engine.webhooks()), version())
                    .start(config.host(), config.port());
            WebhookSender sender = engine.webhooks()
                    .map(store -> new WebhookSender(store, engine.queries(), transport, clock, random).start())
                    .orElse(null);
            if (sender != null) {
                engine.onChange(sender::hint);
            }
            Escalator escalator = engine.escalations()
                    .map(store -> new Escalator(engine.queries(), store, config.escalation(), clock).start())
                    .orElse(null);
            return new Server(engine, metrics, api, sender, escalator);
        } catch (RuntimeException e) {
            engine.close();
            metrics.close();
            throw e;
        }
    }

    private static Waybill.Builder store(ServerConfig config) {
        Integer pool = config.pool();
        if (pool == null) {
            return Waybill.url(config.store());
        }
        PostgresConfig given = PostgresConfig.ofStoreUrl(config.store());
        return Waybill.store(PostgresStore.open(new PostgresConfig(
                given.url(), given.user(), given.password(), pool, given.connectTimeout(), given.socketTimeout())));
    }

    private static EngineOptions options(ServerConfig config) {
        return EngineOptions.DEFAULT
                .withLease(config.lease(), config.lease().dividedBy(3))
                .withDrain(config.drain())
                .withAcceptLossOnWeakStore(config.acceptCommitLoss())
                .withRestored(config.restored());
    }

    static String version() {
        String version = Server.class.getPackage().getImplementationVersion();
        return version == null ? "dev" : version;
    }

    public int port() {
        return api.port();
    }

    public Waybill engine() {
        return engine;
    }

    /** For tests: what is mounted. */
    public Api api() {
        return api;
    }

    /**
     * The engine drains while the API still answers: who waits for a run that is ending here learns how it ended. The door closes
     * last.
     */
    @Override
    public void close() {
        try {
            if (sender != null) {
                sender.close();
            }
            if (escalator != null) {
                escalator.close();
            }
            api.drain();
            engine.close();
        } finally {
            api.close();
            metrics.close();
        }
    }
}

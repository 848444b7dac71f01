package dev.waybill;

import dev.waybill.definition.Destinations;
import dev.waybill.engine.CrashPoints;
import dev.waybill.engine.EngineRuntime;
import dev.waybill.engine.Host;
import dev.waybill.engine.Meter;
import dev.waybill.engine.NodeDirectory;
import dev.waybill.engine.SequenceCache;
import dev.waybill.handler.Handler;
import dev.waybill.handler.Handlers;
import dev.waybill.json.SecretSource;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.DestinationDesk;
import dev.waybill.operate.EffectDesk;
import dev.waybill.operate.Effects;
import dev.waybill.operate.HeldDestinations;
import dev.waybill.operate.FourEyes;
import dev.waybill.operate.RunDesk;
import dev.waybill.operate.Runs;
import dev.waybill.operate.SequenceCatalog;
import dev.waybill.operate.Sequences;
import dev.waybill.recorder.Flights;
import dev.waybill.store.DeskStore;
import dev.waybill.store.Durability;
import dev.waybill.store.EscalationStore;
import dev.waybill.store.Queries;
import dev.waybill.store.Store;
import dev.waybill.store.WebhookStore;
import dev.waybill.store.postgres.PostgresStore;
import dev.waybill.store.sqlite.SqliteConfig;
import dev.waybill.store.sqlite.SqliteStore;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.HttpTransport;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The facade and composition root: opens an engine on a store, wired by hand. */
public final class Waybill implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Waybill.class);

    private final Store store;
    private final Durability durability;
    private final EngineRuntime engine;
    private final SequenceCatalog sequences;
    private final RunDesk runs;
    private final EffectDesk effects;
    private final DestinationDesk destinations;
    private final @Nullable NodeDirectory directory;

    private Waybill(Builder builder, Store store, Durability durability, @Nullable NodeDirectory directory) {
        Supplier<UUID> ids = new TimeOrderedIds(builder.wall, builder.random);
        this.store = store;
        this.durability = durability;
        this.directory = directory;
        Handlers handlers = builder.handlers();
        SequenceCache cache = new SequenceCache(store.sequences(), row -> SequenceCatalog.parse(row, builder.destinations));
        this.engine = new EngineRuntime(
                Host.SYSTEM, store, builder.options, name -> handlers.find(name).orElse(null), builder.secrets, cache, ids, builder.random, builder.wall, builder.meter,
                builder.points, builder.nodeName, directory == null ? incarnation -> {} : directory::write,
                builder.flights(store.description()));
        this.sequences = new SequenceCatalog(store.sequences(), ids, name -> handlers.find(name).isPresent(), builder.destinations);
        this.runs = new RunDesk(store, engine, cache, ids);
        this.effects = new EffectDesk(store, engine, runs, ids, builder.fourEyes);
        this.destinations = new DestinationDesk(store, builder.destinations);
    }

    /** An embedded engine on one SQLite file. */
    public static Builder sqlite(Path file) {
        return new Builder(wall -> new SqliteStore(SqliteConfig.of(file), wall))
                .atMostCommitters(1)
                .flightRecorder(file.resolveSibling(file.getFileName() + ".flight"));
    }

    /**
     * {@code sqlite:FILE} or {@code postgresql://USER[:PASS]@HOST:PORT/DB}.
     *
     * @throws WaybillException 400 STORE_URL_INVALID
     */
    public static Builder url(String storeUrl) {
        if (storeUrl.startsWith("sqlite:") && storeUrl.length() > "sqlite:".length()) {
            return sqlite(Path.of(storeUrl.substring("sqlite:".length())));
        }
        if (storeUrl.startsWith("postgresql://") || storeUrl.startsWith("postgres://")) {
            return new Builder(wall -> PostgresStore.open(storeUrl));
        }
        throw WaybillException.badRequest(
                "STORE_URL_INVALID", "a store is sqlite:FILE or postgresql://USER[:PASS]@HOST:PORT/DB", null);
    }

    /** An engine on the application's own PostgreSQL. */
    public static Builder postgres(DataSource dataSource) {
        return new Builder(wall -> PostgresStore.over(dataSource));
    }

    /** An engine on any store that keeps the contract; it is closed with the engine. */
    public static Builder store(Store store) {
        return new Builder(wall -> store);
    }

    public Sequences sequences() {
        return sequences;
    }

    public Runs runs() {
        return runs;
    }

    public Effects effects() {
        return effects;
    }

    /** Destinations: which there are, and which are held. */
    public HeldDestinations destinations() {
        return destinations;
    }

    /** What people and the API read. */
    public Queries queries() {
        return store.queries();
    }

    /** Calls people about effects; empty where the store keeps no record of it. */
    public Optional<EscalationStore> escalations() {
        return store.escalations();
    }

    /** Endpoints that events are sent to; empty where the store keeps none. */
    public Optional<WebhookStore> webhooks() {
        return store.webhooks();
    }

    /** What the operators' desk keeps and looks for. */
    public DeskStore desk() {
        return store.desk();
    }

    public String storeDescription() {
        return store.description();
    }

    public Durability durability() {
        return durability;
    }

    /** True while this node's lease lives and it is not draining. */
    public boolean ready() {
        return engine.ready();
    }

    /** This process start's id in the list of nodes. */
    public UUID node() {
        return engine.incarnation();
    }

    /** Calls {@code listener} whenever something of interest to {@link Queries#changes} may have been written by this node. */
    public void onChange(Runnable listener) {
        engine.listen(listener);
    }

    /** Drains (semantics.md section 8): stops claiming, settles what is in flight within the drain time, gives claims up. */
    @Override
    public void close() {
        engine.close();
        store.close();
        if (directory != null) {
            directory.close();
        }
    }

    /** Options of an engine that is not open yet. */
    public static final class Builder {
        private final Function<InstantSource, Store> storeFactory;
        private final List<java.util.Map.Entry<String, Handler>> registered = new ArrayList<>();
        private SecretSource secrets = SecretSource.NONE;
        private EngineOptions options = EngineOptions.DEFAULT;
        private Meter meter = Meter.NONE;
        private Destinations destinations = Destinations.NONE;
        private List<String> allowed = List.of();
        private String nodeName = "waybill-" + ProcessHandle.current().pid();
        private @Nullable Path nodeDirectory;
        private @Nullable Path recorderFolder;
        private long recorderBytes = Flights.DEFAULT_BYTES;
        private boolean withoutRecorder;
        private CrashPoints points = CrashPoints.NONE;
        private @Nullable HttpTransport transport;
        private InstantSource wall = InstantSource.system();
        private FourEyes fourEyes = FourEyes.NONE;
        private RandomGenerator random = new java.security.SecureRandom();
        private int mostCommitters = Integer.MAX_VALUE;

        private Builder(Function<InstantSource, Store> storeFactory) {
            this.storeFactory = storeFactory;
        }

        private Builder atMostCommitters(int committers) {
            this.mostCommitters = committers;
            return this;
        }

        /** Registers a handler under a name that is not built in. */
        public Builder handler(String name, Handler handler) {
            registered.add(java.util.Map.entry(name, handler));
            return this;
        }

        public Builder secrets(SecretSource secrets) {
            this.secrets = secrets;
            return this;
        }

        public Builder options(EngineOptions options) {
            this.options = options;
            return this;
        }

        /**
         * What this node knows of destinations, beside what sequences declare themselves: as {@code destinations[]} of a document, each
         * with an optional {@code tenant}. All nodes of one store should be told the same.
         */
        public Builder destinations(Destinations destinations) {
            this.destinations = destinations;
            return this;
        }

        public Builder meter(Meter meter) {
            this.meter = meter;
            return this;
        }

        /** Which decisions about effects need a second principal. */
        public Builder fourEyes(FourEyes policy) {
            this.fourEyes = policy;
            return this;
        }

        /** Exact {@code host:port} pairs that http_request may call although they are internal addresses. */
        public Builder allowAddresses(List<String> hostPorts) {
            this.allowed = List.copyOf(hostPorts);
            return this;
        }

        /** For people, in lists of nodes; default: the pid. */
        public Builder nodeName(String name) {
            this.nodeName = name;
            return this;
        }

        /** Where this node keeps its lock and identity, so that a restart on the same machine goes on at once. */
        public Builder nodeDirectory(Path directory) {
            this.nodeDirectory = directory;
            return this;
        }

        /**
         * Where this node keeps its flight recorder, one for all nodes of one machine; a local folder that only this user can read, because
         * answers of providers lie in it until they are stored. Default: beside the SQLite file, else {@code flight} in the node
         * directory, else none: then whatever was in flight at a {@code kill -9} is unknown.
         */
        public Builder flightRecorder(Path folder) {
            this.recorderFolder = folder;
            return this;
        }

        /** Size of this node's flight recorder, 64 KiB to 1 GiB (default 16 MiB). */
        public Builder flightRecorderBytes(long bytes) {
            this.recorderBytes = bytes;
            return this;
        }

        public Builder withoutFlightRecorder() {
            this.withoutRecorder = true;
            return this;
        }

        /**
         * This process's wall clock: for ids, HTTP dates and the last look. Leases and due times are the database's, whatever this one
         * says.
         */
        public Builder clock(InstantSource wall) {
            this.wall = wall;
            return this;
        }

        /** Named points of the protocol where a test may stop or kill the process. */
        public Builder crashPoints(CrashPoints points) {
            this.points = points;
            return this;
        }

        private @Nullable Flights flights(String store) {
            Path folder = recorderFolder == null && nodeDirectory != null ? nodeDirectory.resolve("flight") : recorderFolder;
            return folder == null || withoutRecorder ? null : Flights.in(folder, store, recorderBytes).orElse(null);
        }

        /** The client of http_request; {@link #allowAddresses} does not apply to it. */
        public Builder transport(HttpTransport transport) {
            this.transport = transport;
            return this;
        }

        private Handlers handlers() {
            HttpTransport client = transport != null ? transport : new HttpTransport(AddressPolicy.fromConfig(allowed, false));
            Handlers handlers = new Handlers(client, wall);
            registered.forEach(entry -> handlers.register(entry.getKey(), entry.getValue()));
            return handlers;
        }

        /**
         * Migrates, checks durability, registers the node and starts.
         *
         * @throws WaybillException 503 DURABILITY_WEAK, 409 STORE_IN_USE
         */
        public Waybill open() {
            options = options.withCommitters(Math.min(options.committers(), mostCommitters));
            Store store = storeFactory.apply(wall);
            NodeDirectory directory = null;
            try {
                store.migrate();
                Durability durability = store.durability();
                durability.warnings().forEach(warning -> LOG.warn("DURABILITY {}", warning));
                if (durability.weak()) {
                    if (!options.acceptLossOnWeakStore()) {
                        throw new WaybillException(
                                503, "DURABILITY_WEAK",
                                "this store may lose commits that it has answered, and with them the only proof that something was sent: "
                                        + String.join("; ", durability.weaknesses()),
                                null, "make the store durable, or start with --accept-losing-commits");
                    }
                    LOG.warn("DURABILITY_WEAK accepted: {}", durability.weaknesses());
                }
                if (nodeDirectory != null) {
                    directory = NodeDirectory.open(nodeDirectory);
                    directory.dead().forEach(store::fence);
                }
                return new Waybill(this, store, durability, directory);
            } catch (RuntimeException | Error e) {
                store.close();
                if (directory != null) {
                    directory.close();
                }
                throw e;
            }
        }
    }
}

package dev.waybill.server.cli;

import dev.waybill.model.WaybillException;
import dev.waybill.server.ConfigLoader;
import dev.waybill.server.Server;
import dev.waybill.server.ServerConfig;
import dev.waybill.store.StoreException;
import io.javalin.util.JavalinException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import sun.misc.Signal;

/** {@code waybill serve}: the engine and its API, until SIGTERM. */
@Command(
        name = "serve",
        mixinStandardHelpOptions = true,
        description = "Runs the engine and its API. Every option is also a WAYBILL_* variable and a key of the YAML file; "
                + "options win over variables, variables over the file.",
        footer = {
            "",
            "Keys: WAYBILL_API_KEY, or in the file  api_keys: [{name: ops, key_sha256: HEX, tenant: optional}].",
            "Secrets: WAYBILL_SECRET_NAME, or in the file  secrets: {NAME: value}  or  tenant_secrets: {TENANT: {NAME: value}}."
        })
final class ServeCommand implements Callable<Integer> {
    private final Cli.World world;

    @Option(names = "--config", paramLabel = "FILE", description = "YAML file with these settings (WAYBILL_CONFIG).")
    @Nullable String config;

    @Option(names = "--host", paramLabel = "ADDRESS", description = "Address to listen on (127.0.0.1).")
    @Nullable String host;

    @Option(names = "--port", paramLabel = "N", description = "Port to listen on; 0 = any free one (8080).")
    @Nullable String port;

    @Option(names = "--store", paramLabel = "URL", description = "sqlite:FILE or postgresql://USER[:PASS]@HOST:PORT/DB (sqlite:./waybill.db).")
    @Nullable String store;

    @Option(names = "--insecure", description = "Ask for no key; serves this machine only.")
    boolean insecure;

    @Option(names = "--node-dir", paramLabel = "DIR", description = "Where this node keeps its lock and identity.")
    @Nullable String nodeDir;

    @Option(
            names = "--recorder-dir", paramLabel = "DIR",
            description = "Where this node keeps its flight recorder, or off (beside the SQLite file, else in the node directory).")
    @Nullable String recorderDir;

    @Option(names = "--recorder-bytes", paramLabel = "N", description = "Size of the flight recorder (16777216).")
    @Nullable String recorderBytes;

    @Option(names = "--node-name", paramLabel = "NAME", description = "For people (host name and pid).")
    @Nullable String nodeName;

    @Option(names = "--drain", paramLabel = "DURATION", description = "How long SIGTERM waits for calls in flight (20s).")
    @Nullable String drain;

    @Option(names = "--lease", paramLabel = "DURATION", description = "How long a silent node keeps its runs (15s).")
    @Nullable String lease;

    @Option(
            names = "--allow-address",
            paramLabel = "HOST:PORT",
            description = "Internal address that http_request may call; may be repeated.")
    List<String> allowAddresses = new ArrayList<>();

    @Option(names = "--escalate-after", paramLabel = "DURATION[,..]", description = "Call a person about effects unknown for longer (1h,1d; or none).")
    @Nullable String escalateAfter;

    @Option(names = "--escalate-amounts", paramLabel = "CURRENCY=AMOUNT[,..]", description = "Call a person when a tenant's money at risk reaches this.")
    @Nullable String escalateAmounts;

    @Option(names = "--pool", paramLabel = "N", description = "PostgreSQL connections.")
    @Nullable String pool;

    @Option(
            names = "--restored",
            description = "The database came back from a backup: unfinished runs stay paused until 'waybill store accept'.")
    boolean restored;

    @Option(
            names = {"--accept-commit-loss", "--accept-losing-commits"},
            description = "Go on although this database may lose answered commits: an effect may then be sent twice.")
    boolean acceptCommitLoss;

    ServeCommand(Cli.World world) {
        this.world = world;
    }

    @Override
    public Integer call() throws InterruptedException {
        ServerConfig settings = ConfigLoader.load(flags(), world.environment());
        Server server = start(settings);
        Terminal terminal = world.terminal();
        String host = settings.host().indexOf(':') >= 0 ? "[" + settings.host() + "]" : settings.host();
        terminal.line("waybill " + new Cli.Version().getVersion()[0].substring("waybill ".length()) + "   http://" + host + ":" + server.port()
                + "   store " + server.engine().storeDescription());
        server.engine().durability().weaknesses().forEach(weakness -> terminal.line("WARNING " + weakness));
        server.engine().durability().warnings().forEach(warning -> terminal.line("note    " + warning));
        if (settings.keys().none()) {
            terminal.line("note    no key is asked for (--insecure): only this machine can connect");
        }
        terminal.line(server.engine().ready() ? "ready" : "not ready yet: see /health/ready");
        return untilSignal(server);
    }

    private Server start(ServerConfig settings) {
        try {
            return Server.start(settings, world.clock(), UnaryOperator.identity());
        } catch (WaybillException e) {
            throw new CliFailure(Exit.FAILED, e.code() + " " + e.getMessage(), e.next() == null ? "see docs/errors/" + e.code() + ".md" : e.next());
        } catch (StoreException e) {
            throw new CliFailure(
                    Exit.UNREACHABLE, "the store " + settings.storeForPeople() + " cannot be used: " + deepest(e), "check --store");
        } catch (JavalinException e) {
            throw new CliFailure(
                    Exit.FAILED, "cannot listen on " + settings.host() + ":" + settings.port() + ": " + deepest(e), "waybill serve --port 0");
        }
    }

    private static String deepest(Throwable e) {
        Throwable at = e;
        while (at.getCause() != null) {
            at = at.getCause();
        }
        return String.valueOf(at.getMessage());
    }

    /** The first signal drains, a second one ends the process at once: the next start finds everything in the ledger. */
    private Integer untilSignal(Server server) throws InterruptedException {
        CountDownLatch stop = new CountDownLatch(1);
        AtomicBoolean stopping = new AtomicBoolean();
        for (String name : List.of("TERM", "INT")) {
            Signal.handle(new Signal(name), signal -> {
                if (stopping.getAndSet(true)) {
                    Runtime.getRuntime().halt(128 + signal.getNumber());
                }
                stop.countDown();
            });
        }
        stop.await();
        world.terminal().line("draining");
        server.close();
        world.terminal().line("stopped");
        return Exit.OK;
    }

    private Map<String, List<String>> flags() {
        Map<String, List<String>> flags = new HashMap<>();
        put(flags, "config", config);
        put(flags, "host", host);
        put(flags, "port", port);
        put(flags, "store", store);
        put(flags, "insecure", insecure ? "true" : null);
        put(flags, "node_dir", nodeDir);
        put(flags, "recorder_dir", recorderDir);
        put(flags, "recorder_bytes", recorderBytes);
        put(flags, "node_name", nodeName);
        put(flags, "drain", drain);
        put(flags, "lease", lease);
        put(flags, "escalate_after", escalateAfter);
        put(flags, "escalate_amounts", escalateAmounts);
        put(flags, "pool", pool);
        put(flags, "restored", restored ? "true" : null);
        put(flags, "accept_commit_loss", acceptCommitLoss ? "true" : null);
        if (!allowAddresses.isEmpty()) {
            flags.put("allow_addresses", allowAddresses);
        }
        return flags;
    }

    private static void put(Map<String, List<String>> flags, String name, @Nullable String value) {
        if (value != null) {
            flags.put(name, List.of(value));
        }
    }
}

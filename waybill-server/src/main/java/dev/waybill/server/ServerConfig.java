package dev.waybill.server;

import dev.waybill.definition.Destinations;
import dev.waybill.json.SecretSource;
import dev.waybill.operate.FourEyes;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Everything the server can be told, typed and checked; see {@link ConfigLoader} for where it comes from.
 *
 * @param host             address to listen on; loopback unless keys are configured
 * @param port             0 = any free one
 * @param store            {@code sqlite:FILE} or {@code postgresql://USER[:PASS]@HOST:PORT/DB}
 * @param insecure         true: no key is asked for, and only loopback is listened on
 * @param secrets          by tenant ({@code ""} = every tenant), then by name
 * @param nodeDirectory    where this node keeps its lock and identity; null: a restart after a kill on PostgreSQL waits for the lease
 * @param recorder         where this node keeps its flight recorder and how large it is
 * @param nodeName         for people; null: host name and pid
 * @param drain            how long SIGTERM waits for calls in flight
 * @param lease            node lease on the database clock
 * @param allowAddresses   exact {@code host:port} pairs that http_request may call although they are internal
 * @param restored         the database came back from a backup: unfinished runs are paused until {@code store accept}
 * @param acceptCommitLoss go on although the database may lose answered commits
 * @param fourEyes         which decisions about effects need a second principal
 * @param pool             PostgreSQL connections for reads and outside moves; null: a restart after a kill on PostgreSQL waits for the lease
 * @param destinations     what this node knows of destinations; all nodes of one store should be told the same
 * @param escalation       when a person is called about an unknown effect
 */
public record ServerConfig(
        String host,
        int port,
        String store,
        boolean insecure,
        ApiKeys keys,
        Map<String, Map<String, String>> secrets,
        @Nullable Path nodeDirectory,
        Recorder recorder,
        @Nullable String nodeName,
        Duration drain,
        Duration lease,
        List<String> allowAddresses,
        boolean restored,
        boolean acceptCommitLoss,
        @Nullable Integer pool,
        Destinations destinations,
        FourEyes fourEyes,
        Escalation escalation) {

    /**
     * @param folder null: beside the SQLite file, else in the node directory
     * @param off    true: none, and whatever is in flight at a kill is unknown
     * @param bytes  size of the node's file
     */
    public record Recorder(@Nullable Path folder, boolean off, int bytes) {}

    /**
     * @param ages    an effect that is unknown for longer is escalated, once for each of them
     * @param amounts by currency: a tenant's money at risk that calls for a person
     */
    public record Escalation(List<Duration> ages, Map<String, BigDecimal> amounts) {}

    /** A setting that cannot be used; the message names where it came from and what to write instead. */
    public static final class Invalid extends RuntimeException {
        private static final long serialVersionUID = 1L;

        public Invalid(String message) {
            super(message);
        }
    }

    public ServerConfig {
        if (keys.none() && !insecure) {
            throw new Invalid("no API key is configured: set WAYBILL_API_KEY or api_keys in the configuration file, "
                    + "or add --insecure to serve this machine only, without keys");
        }
        if (!fourEyes.rules().isEmpty() && (insecure || keys.principals() < 2)) {
            throw new Invalid("four_eyes needs two principals: configure api_keys with two different names, and no --insecure");
        }
        if (pool != null && !store.startsWith("postgres")) {
            throw new Invalid("pool is about PostgreSQL connections, and the store is " + withoutPassword(store) + ": leave pool out");
        }
        if (insecure && !loopback(host)) {
            throw new Invalid("--insecure serves this machine only, and " + host
                    + " is reachable from others: leave --host out, or configure a key and drop --insecure");
        }
    }

    /** A tenant's own secrets before those of every tenant. */
    public SecretSource secretSource() {
        return (tenant, name) -> Optional.ofNullable(secrets.getOrDefault(tenant, Map.of()).get(name))
                .or(() -> Optional.ofNullable(secrets.getOrDefault("", Map.of()).get(name)));
    }

    /** The store without its password, for people. */
    public String storeForPeople() {
        return withoutPassword(store);
    }

    static String withoutPassword(String url) {
        return url.replaceFirst("(://[^:/@]*):[^@]*@", "$1:***@").replaceAll("(?i)([?&]password=)[^&]*", "$1***");
    }

    private static boolean loopback(String host) {
        try {
            return InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException e) {
            return false;
        }
    }
}

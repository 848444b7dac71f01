package dev.waybill.store.postgres;

import dev.waybill.model.WaybillException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Where a PostgreSQL cell is and how many connections it may cost.
 *
 * @param url            {@code jdbc:postgresql://host:port/db?..}; parameters given here win over ours
 * @param user           role that owns the schema; not a superuser, whom no privilege binds
 * @param poolSize       connections for reads and outside moves; committers, claims and heartbeats have their own (at most about 8)
 * @param connectTimeout how long opening a connection, or waiting for one of the pool, may take
 * @param socketTimeout  how long an answer may take before the connection counts as lost; must be longer than any lock wait
 */
public record PostgresConfig(
        String url, @Nullable String user, @Nullable String password, int poolSize, Duration connectTimeout, Duration socketTimeout) {

    public static PostgresConfig of(String url, @Nullable String user, @Nullable String password) {
        return new PostgresConfig(url, user, password, 8, Duration.ofSeconds(5), Duration.ofSeconds(30));
    }

    /**
     * @param storeUrl {@code postgresql://USER[:PASS]@HOST[:PORT]/DB[?parameters]}, user and password percent-encoded where needed
     * @throws WaybillException 400 STORE_URL_INVALID
     */
    public static PostgresConfig ofStoreUrl(String storeUrl) {
        URI uri;
        try {
            uri = new URI(storeUrl);
        } catch (URISyntaxException e) {
            throw invalid();
        }
        if (uri.getHost() == null || uri.getPath() == null || uri.getPath().length() < 2) {
            throw invalid();
        }
        String login = uri.getRawUserInfo();
        int colon = login == null ? -1 : login.indexOf(':');
        String user = login == null ? null : decode(colon < 0 ? login : login.substring(0, colon));
        String password = login == null || colon < 0 ? null : decode(login.substring(colon + 1));
        String port = uri.getPort() < 0 ? "" : ":" + uri.getPort();
        String query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
        return of("jdbc:postgresql://" + uri.getHost() + port + uri.getRawPath() + query, user, password);
    }

    private static String decode(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private static WaybillException invalid() {
        return WaybillException.badRequest("STORE_URL_INVALID", "a PostgreSQL store is postgresql://USER[:PASS]@HOST:PORT/DB", null);
    }
}

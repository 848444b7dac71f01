package dev.waybill.store.postgres;

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
}

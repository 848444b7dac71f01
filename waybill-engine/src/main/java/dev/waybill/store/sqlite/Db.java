package dev.waybill.store.sqlite;

import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A connection with its prepared statements; of one thread. */
final class Db {
    private final Connection connection;
    private final Map<String, Query> prepared = new HashMap<>();

    Db(Connection connection) {
        this.connection = connection;
    }

    @FunctionalInterface
    interface RowMapper<T> {
        T map(ResultSet row) throws SQLException;
    }

    /** A statement of the program text: prepared once for each connection. */
    Query sql(String text) throws SQLException {
        Query known = prepared.get(text);
        if (known == null) {
            known = new Query(connection.prepareStatement(text));
            prepared.put(text, known);
        }
        known.next = 1;
        return known;
    }

    void execute(String text) throws SQLException {
        PreparedStatement statement = sql(text).statement;
        if (statement.execute()) {
            // A pragma that answers keeps its locks until its answer is closed.
            statement.getResultSet().close();
        }
    }

    Connection connection() {
        return connection;
    }

    void close() throws SQLException {
        for (Query query : prepared.values()) {
            query.statement.close();
        }
        connection.close();
    }

    /** Binds by position. */
    static final class Query {
        private final PreparedStatement statement;
        private int next = 1;

        Query(PreparedStatement statement) {
            this.statement = statement;
        }

        Query text(@Nullable String value) throws SQLException {
            statement.setString(next++, value);
            return this;
        }

        Query number(long value) throws SQLException {
            statement.setLong(next++, value);
            return this;
        }

        Query number(@Nullable Number value) throws SQLException {
            statement.setObject(next++, value);
            return this;
        }

        Query flag(boolean value) throws SQLException {
            statement.setInt(next++, value ? 1 : 0);
            return this;
        }

        Query uuid(@Nullable UUID value) throws SQLException {
            statement.setBytes(next++, value == null ? null : Db.bytes(value));
            return this;
        }

        Query bytes(byte @Nullable [] value) throws SQLException {
            statement.setBytes(next++, value);
            return this;
        }

        /** @return how many rows were written */
        int update() throws SQLException {
            return statement.executeUpdate();
        }

        <T> List<T> list(RowMapper<T> mapper) throws SQLException {
            try (ResultSet rows = statement.executeQuery()) {
                List<T> all = new ArrayList<>();
                while (rows.next()) {
                    all.add(mapper.map(rows));
                }
                return all;
            }
        }

        <T> Optional<T> first(RowMapper<T> mapper) throws SQLException {
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? Optional.of(mapper.map(rows)) : Optional.empty();
            }
        }

        boolean exists() throws SQLException {
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next();
            }
        }
    }

    // --- values ----------------------------------------------------------------------------------------------------------------

    static byte[] bytes(UUID id) {
        return ByteBuffer.allocate(16).putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).array();
    }

    static UUID uuid(ResultSet row, int column) throws SQLException {
        return uuid(row.getBytes(column));
    }

    static @Nullable UUID optionalUuid(ResultSet row, int column) throws SQLException {
        byte[] bytes = row.getBytes(column);
        return bytes == null ? null : uuid(bytes);
    }

    private static UUID uuid(byte[] bytes) {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new UUID(buffer.getLong(), buffer.getLong());
    }

    static @Nullable Long optionalLong(ResultSet row, int column) throws SQLException {
        long value = row.getLong(column);
        return row.wasNull() ? null : value;
    }

    static long micros(Instant time) {
        return ChronoUnit.MICROS.between(Instant.EPOCH, time);
    }

    static Instant time(long micros) {
        return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
    }
}

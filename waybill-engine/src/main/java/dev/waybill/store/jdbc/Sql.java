package dev.waybill.store.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Plain JDBC without its ceremony. Arguments are bound by position with {@code setObject}; conversions are the caller's. */
public final class Sql {
    private Sql() {}

    @FunctionalInterface
    public interface RowMapper<T> {
        T map(ResultSet row) throws SQLException;
    }

    /** Every row, in the order of the statement. */
    public static <T> List<T> query(Connection connection, String sql, RowMapper<T> mapper, @Nullable Object... arguments)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, arguments);
            try (ResultSet rows = statement.executeQuery()) {
                List<T> result = new ArrayList<>();
                while (rows.next()) {
                    result.add(mapper.map(rows));
                }
                return result;
            }
        }
    }

    /** The first row, if there is one. */
    public static <T> Optional<T> first(Connection connection, String sql, RowMapper<T> mapper, @Nullable Object... arguments)
            throws SQLException {
        return query(connection, sql, mapper, arguments).stream().findFirst();
    }

    /** @return the number of rows written */
    public static int update(Connection connection, String sql, @Nullable Object... arguments) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, arguments);
            return statement.executeUpdate();
        }
    }

    public static void bind(PreparedStatement statement, @Nullable Object... arguments) throws SQLException {
        for (int i = 0; i < arguments.length; i++) {
            statement.setObject(i + 1, arguments[i]);
        }
    }
}

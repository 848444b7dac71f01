package dev.waybill.store.sqlite;

import dev.waybill.store.jdbc.Sql;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A search that people put together: conditions with their arguments, in order. Not prepared ahead: there are too many kinds. */
final class Where {
    private final StringBuilder sql;
    private final List<@Nullable Object> arguments = new ArrayList<>();

    /**
     * @param select everything up to and with the first condition
     */
    Where(String select, @Nullable Object... arguments) {
        this.sql = new StringBuilder(select);
        add(arguments);
    }

    /** Adds the condition when its argument is there. */
    Where when(@Nullable Object argument, String condition) {
        return argument == null ? this : and(condition, argument);
    }

    Where and(String condition, @Nullable Object... values) {
        sql.append("\n   AND ").append(condition);
        add(values);
        return this;
    }

    Where end(String clause, @Nullable Object... values) {
        sql.append('\n').append(clause);
        add(values);
        return this;
    }

    <T> List<T> list(Db db, Sql.RowMapper<T> mapper) throws SQLException {
        return Sql.query(db.connection(), sql.toString(), mapper, arguments.toArray());
    }

    /** How the database would find it, a line for each loop. */
    List<String> plan(java.sql.Connection connection) throws SQLException {
        return Sql.query(connection, "EXPLAIN QUERY PLAN " + sql, row -> row.getString("detail"), arguments.toArray());
    }

    private void add(@Nullable Object... values) {
        for (Object value : values) {
            arguments.add(value instanceof UUID id ? Db.bytes(id) : value);
        }
    }
}

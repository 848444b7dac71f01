package dev.waybill.store.postgres;

import java.lang.reflect.Array;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Rows on their way into {@code unnest(?::type[], ..)}: one array for each column, so that a batch of any size is one statement text
 * and one plan.
 */
final class Columns {
    enum Type {
        TEXT(String.class),
        INT4(Integer.class),
        INT8(Long.class),
        UUID(UUID.class),
        BOOL(Boolean.class),
        BYTEA(byte[].class);

        final Class<?> javaType;
        final String sqlName = name().toLowerCase(java.util.Locale.ROOT);

        Type(Class<?> javaType) {
            this.javaType = javaType;
        }
    }

    /** What the rows of one statement part look like. */
    static final class Shape {
        private final List<Type> types = new ArrayList<>();
        private final List<String> names = new ArrayList<>();

        Shape with(Type type, String... columns) {
            for (String column : columns) {
                types.add(type);
                names.add(column);
            }
            return this;
        }

        /** {@code unnest(?::text[], ..) AS alias(name, ..)} */
        String from(String alias) {
            return unnest() + " AS " + alias + "(" + String.join(", ", names) + ")";
        }

        /** The same with the row's number, from 1, as the column {@code ord}. */
        String fromOrdered(String alias) {
            return unnest() + " WITH ORDINALITY AS " + alias + "(" + String.join(", ", names) + ", ord)";
        }

        private String unnest() {
            return types.stream().map(type -> "?::" + type.sqlName + "[]").collect(Collectors.joining(", ", "unnest(", ")"));
        }

        /** {@code alias.a, alias.b, ..} for a list of column names. */
        static String list(String alias, String columns) {
            return Stream.of(columns.split(",")).map(name -> alias + "." + name.strip()).collect(Collectors.joining(", "));
        }
    }

    private final Shape shape;
    private final List<@Nullable Object[]> rows = new ArrayList<>();

    Columns(Shape shape) {
        this.shape = shape;
    }

    void add(@Nullable Object... values) {
        if (values.length != shape.types.size()) {
            throw new IllegalArgumentException(values.length + " values for " + shape.names);
        }
        rows.add(values);
    }

    int size() {
        return rows.size();
    }

    boolean isEmpty() {
        return rows.isEmpty();
    }

    /** @return the index of the next parameter */
    int bind(PreparedStatement statement, int from) throws SQLException {
        for (int column = 0; column < shape.types.size(); column++) {
            Type type = shape.types.get(column);
            Object[] array = (Object[]) Array.newInstance(type.javaType, rows.size());
            for (int row = 0; row < array.length; row++) {
                array[row] = rows.get(row)[column];
            }
            statement.setArray(from + column, statement.getConnection().createArrayOf(type.sqlName, array));
        }
        return from + shape.types.size();
    }
}

package dev.waybill.store.postgres;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.QueryExecutor;
import org.postgresql.util.PGBinaryObject;
import org.postgresql.util.PGobject;

/**
 * Rows on their way into {@code unnest(?::type[], ..)}: one array for each column, so that a batch of any size is one statement text
 * and one plan. Arrays are written in PostgreSQL's binary form as the rows come in: the driver's text form of uuid and bytea
 * arrays is built, sent and parsed character by character on both sides.
 */
final class Columns {
    /** Object identifiers of the array and its elements are fixed in PostgreSQL's catalogue (pg_type.dat). */
    enum Type {
        TEXT(1009, 25),
        INT4(1007, 23),
        INT8(1016, 20),
        UUID(2951, 2950),
        BOOL(1000, 16),
        BYTEA(1001, 17);

        final int arrayOid;
        final int elementOid;
        final String sqlName = name().toLowerCase(Locale.ROOT);

        Type(int arrayOid, int elementOid) {
            this.arrayOid = arrayOid;
            this.elementOid = elementOid;
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
    }

    private final Shape shape;
    private final BinaryArray[] arrays;
    private int size;

    Columns(Shape shape) {
        this.shape = shape;
        this.arrays = new BinaryArray[shape.types.size()];
    }

    /** Values in the order of the shape: String, Integer, Long, UUID, Boolean or byte[], or null. */
    void add(@Nullable Object... values) {
        if (values.length != arrays.length) {
            throw new IllegalArgumentException(values.length + " values for " + shape.names);
        }
        if (size == 0) {
            for (int column = 0; column < arrays.length; column++) {
                arrays[column] = new BinaryArray(shape.types.get(column));
            }
        }
        for (int column = 0; column < arrays.length; column++) {
            arrays[column].add(values[column]);
        }
        size++;
    }

    int size() {
        return size;
    }

    boolean isEmpty() {
        return size == 0;
    }

    /** @return the index of the next parameter */
    int bind(PreparedStatement statement, int from) throws SQLException {
        QueryExecutor driver = statement.getConnection().unwrap(BaseConnection.class).getQueryExecutor();
        for (int column = 0; column < arrays.length; column++) {
            driver.addBinarySendOid(shape.types.get(column).arrayOid);
            statement.setObject(from + column, arrays[column].finished(size));
        }
        return from + arrays.length;
    }

    /**
     * One-dimensional array as array_recv reads it: dimensions, a flag for nulls, the element type, length, lower bound, and then each
     * element behind its length.
     */
    private static final class BinaryArray extends PGobject implements PGBinaryObject {
        private static final long serialVersionUID = 1L;
        private static final int HEADER = 20;
        private final Type elements;
        private transient ByteBuffer buffer = ByteBuffer.allocate(256).position(HEADER);
        private boolean nulls;

        BinaryArray(Type elements) {
            this.elements = elements;
            setType("_" + elements.sqlName);
        }

        void add(@Nullable Object value) {
            switch (value) {
                case null -> {
                    nulls = true;
                    room(4).putInt(-1);
                }
                case String text -> bytes(text.getBytes(StandardCharsets.UTF_8));
                case byte[] raw -> bytes(raw);
                case Integer number -> room(8).putInt(4).putInt(number);
                case Long number -> room(12).putInt(8).putLong(number);
                case UUID id -> room(20).putInt(16).putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits());
                case Boolean flag -> room(5).putInt(1).put(flag ? (byte) 1 : 0);
                default -> throw new IllegalArgumentException("no column holds a " + value.getClass());
            }
        }

        private void bytes(byte[] raw) {
            room(4 + raw.length).putInt(raw.length).put(raw);
        }

        private ByteBuffer room(int more) {
            if (buffer.remaining() < more) {
                int capacity = Math.max(buffer.capacity() * 2, buffer.position() + more);
                buffer = ByteBuffer.wrap(Arrays.copyOf(buffer.array(), capacity)).position(buffer.position());
            }
            return buffer;
        }

        BinaryArray finished(int size) {
            buffer.putInt(0, 1).putInt(4, nulls ? 1 : 0).putInt(8, elements.elementOid).putInt(12, size).putInt(16, 1);
            return this;
        }

        @Override
        public int lengthInBytes() {
            return buffer.position();
        }

        @Override
        public void toBytes(byte[] target, int offset) {
            System.arraycopy(buffer.array(), 0, target, offset, buffer.position());
        }

        @Override
        public void setByteValue(byte[] value, int offset) {
            throw new UnsupportedOperationException("arrays are only sent");
        }
    }
}

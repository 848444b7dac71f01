package dev.waybill.recorder;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * The mapped file: one page of header, then a ring of records.
 *
 * <pre>
 * header  0 magic | 8 version | 16 ring bytes | 24 salt | 32 boot id | 48 store | 80 file identity | 112 CRC-32C of 0..112
 *         128 tail (bytes ever reserved) | 136 broken | 144 incarnations told | 256 the last 64 incarnations, 16 bytes each
 * record  0 salt | 8 position (bytes reserved before it) | 16 CRC-32C | 20 payload bytes | 24 kind | 28 zero | 32 payload
 * </pre>
 *
 * Records begin at multiples of 8 and never straddle the ring's end. The tail is moved <em>before</em> a byte is written, so that whoever
 * reads it knows everything that may have been overwritten, by writers that died half-way too. The salt is random: a record that lies in
 * somebody's reply is not one. A record counts only when position, length and checksum agree; a torn one is no record.
 */
final class FlightFile implements AutoCloseable {
    static final int HEADER_BYTES = 4_096;
    static final int RECORD_HEADER_BYTES = 32;
    static final int MAX_INCARNATIONS = 64;

    private static final byte[] MAGIC = {'W', 'B', 'F', 'L', 'I', 'G', 'H', 'T'};
    private static final int VERSION = 1;
    private static final int CHECKED_BYTES = 112;
    private static final long TAIL = 128;
    private static final long BROKEN = 136;
    private static final long TOLD = 144;
    private static final long INCARNATIONS = 256;
    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
    private static final ValueLayout.OfLong BIG_ENDIAN = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(java.nio.ByteOrder.BIG_ENDIAN);

    /** What a record is about. */
    enum Kind {
        INTENT,
        FIRST_BYTE,
        ANSWER,
        SETTLED;

        private static final Kind[] ALL = values();
    }

    /** A record that is whole, and that nothing was reserved over. */
    record Entry(long position, Kind kind, byte[] payload) {}

    /**
     * What ties a file to its machine, its boot, its store and its place.
     *
     * @param store    SHA-256 of the store's description
     * @param identity SHA-256 of the file's device and inode: a copy is another file
     */
    record Origin(UUID boot, byte[] store, byte[] identity) {
        boolean sameStore(Origin other) {
            return Arrays.equals(store, other.store);
        }

        boolean sameFile(Origin other) {
            return Arrays.equals(identity, other.identity);
        }
    }

    private final Arena arena;
    private final MemorySegment file;
    private final long ring;
    private final long salt;
    private final Origin origin;

    private FlightFile(Arena arena, MemorySegment file, long ring, long salt, Origin origin) {
        this.arena = arena;
        this.file = file;
        this.ring = ring;
        this.salt = salt;
        this.origin = origin;
    }

    // --- writing ---------------------------------------------------------------------------------------------------------------

    /**
     * Makes an empty file ready. Its bytes are written, not only promised: a full disk must show itself here and not as a fault in the
     * middle of a note.
     */
    static FlightFile create(FileChannel channel, long ringBytes, long salt, Origin origin) throws IOException {
        ByteBuffer zeros = ByteBuffer.allocate(64 * 1024);
        for (long at = 0; at < HEADER_BYTES + ringBytes; at += zeros.position()) {
            zeros.clear().limit((int) Math.min(zeros.capacity(), HEADER_BYTES + ringBytes - at));
            while (zeros.hasRemaining()) channel.write(zeros, at + zeros.position());
        }
        ByteBuffer header = ByteBuffer.allocate(CHECKED_BYTES + 4);
        header.put(MAGIC).putInt(VERSION).putInt(0).putLong(ringBytes).putLong(salt);
        header.putLong(origin.boot.getMostSignificantBits()).putLong(origin.boot.getLeastSignificantBits());
        header.put(origin.store).put(origin.identity);
        header.putInt(checksum(header.array(), 0, CHECKED_BYTES));
        Arena arena = Arena.ofShared();
        MemorySegment file = channel.map(MapMode.READ_WRITE, 0, HEADER_BYTES + ringBytes, arena);
        MemorySegment.copy(header.array(), 0, file, ValueLayout.JAVA_BYTE, 0, header.array().length);
        return new FlightFile(arena, file, ringBytes, salt, origin);
    }

    /** The longest payload a record may have: an eighth of the ring. */
    int maxPayload() {
        return (int) Math.min(Integer.MAX_VALUE - 64, ring / 8) - RECORD_HEADER_BYTES;
    }

    /**
     * Writes a record; when it returns the record outlives this process.
     *
     * @throws IllegalStateException when the file was closed
     */
    void append(Kind kind, byte[] payload) {
        if (payload.length > maxPayload()) throw new IllegalArgumentException("a record of " + payload.length + " bytes");
        int size = sizeOf(payload.length);
        long start = reserve(size);
        ByteBuffer record = ByteBuffer.allocate(size);
        record.putLong(salt).putLong(start).putInt(0).putInt(payload.length).putInt(kind.ordinal()).putInt(0).put(payload);
        record.putInt(16, checksum(record.array(), 0, size));
        MemorySegment.copy(record.array(), 0, file, ValueLayout.JAVA_BYTE, HEADER_BYTES + start % ring, size);
        VarHandle.fullFence(); // before whatever the caller does next: a write to a socket
    }

    private long reserve(int size) {
        while (true) {
            long tail = (long) LONG.getVolatile(file, TAIL);
            long left = ring - tail % ring;
            long start = size > left ? tail + left : tail;
            if (LONG.compareAndSet(file, TAIL, tail, start + size)) return start;
        }
    }

    /** Single writer: the caller sees to that. */
    void incarnation(UUID node) {
        long told = (long) LONG.getVolatile(file, TOLD);
        long at = INCARNATIONS + told % MAX_INCARNATIONS * 16;
        file.set(BIG_ENDIAN, at, node.getMostSignificantBits());
        file.set(BIG_ENDIAN, at + 8, node.getLeastSignificantBits());
        LONG.setVolatile(file, TOLD, told + 1);
    }

    /** Something of this file could not be written: it says nothing any more, to anybody. */
    void breakDown() {
        LONG.setVolatile(file, BROKEN, 1L);
    }

    private static int sizeOf(int payload) {
        return (RECORD_HEADER_BYTES + payload + 7) & ~7;
    }

    private static int checksum(byte[] bytes, int offset, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, offset, length);
        return (int) crc.getValue();
    }

    // --- reading ---------------------------------------------------------------------------------------------------------------

    /** Empty when this is not a whole file of this version. */
    static Optional<FlightFile> read(FileChannel channel) throws IOException {
        long size = channel.size();
        if (size < HEADER_BYTES + RECORD_HEADER_BYTES) return Optional.empty();
        Arena arena = Arena.ofShared();
        MemorySegment file = channel.map(MapMode.READ_ONLY, 0, size, arena);
        ByteBuffer header = file.asSlice(0, CHECKED_BYTES + 4).asByteBuffer();
        byte[] checked = new byte[CHECKED_BYTES];
        header.get(0, checked);
        byte[] magic = Arrays.copyOf(checked, MAGIC.length);
        if (!Arrays.equals(magic, MAGIC)
                || header.getInt(8) != VERSION
                || header.getInt(CHECKED_BYTES) != checksum(checked, 0, CHECKED_BYTES)
                || header.getLong(16) != size - HEADER_BYTES) {
            arena.close();
            return Optional.empty();
        }
        byte[] store = Arrays.copyOfRange(checked, 48, 80);
        byte[] identity = Arrays.copyOfRange(checked, 80, 112);
        Origin origin = new Origin(new UUID(header.getLong(32), header.getLong(40)), store, identity);
        return Optional.of(new FlightFile(arena, file, header.getLong(16), header.getLong(24), origin));
    }

    Origin origin() {
        return origin;
    }

    boolean broken() {
        return file.get(ValueLayout.JAVA_LONG, BROKEN) != 0;
    }

    List<UUID> incarnations() {
        long told = file.get(ValueLayout.JAVA_LONG, TOLD);
        List<UUID> all = new ArrayList<>();
        for (long i = Math.max(0, told - MAX_INCARNATIONS); i < told; i++) {
            long at = INCARNATIONS + i % MAX_INCARNATIONS * 16;
            all.add(new UUID(file.get(BIG_ENDIAN, at), file.get(BIG_ENDIAN, at + 8)));
        }
        return all;
    }

    /** By position. What is missing behind the first one was torn: its writer never came back from writing it. */
    List<Entry> entries() {
        long tail = file.get(ValueLayout.JAVA_LONG, TAIL);
        List<Entry> entries = new ArrayList<>();
        long at = 0;
        while (at + RECORD_HEADER_BYTES <= ring) {
            Entry entry = file.get(BIG_ENDIAN, HEADER_BYTES + at) == salt ? entry(at, tail) : null;
            if (entry == null) {
                at += 8;
            } else {
                entries.add(entry);
                at += sizeOf(entry.payload.length);
            }
        }
        entries.sort((a, b) -> Long.compare(a.position, b.position));
        return entries;
    }

    private @org.jspecify.annotations.Nullable Entry entry(long at, long tail) {
        ByteBuffer head = file.asSlice(HEADER_BYTES + at, RECORD_HEADER_BYTES).asByteBuffer();
        long position = head.getLong(8);
        int payload = head.getInt(20);
        int kind = head.getInt(24);
        if (position < 0 || position % ring != at || payload < 0 || payload > maxPayload() || kind < 0 || kind >= Kind.ALL.length) {
            return null;
        }
        int size = sizeOf(payload);
        // What the tail has passed by more than a ring was reserved by somebody else, whether or not he got to write it.
        if (at + size > ring || position + size > tail || tail - position > ring) return null;
        byte[] bytes = file.asSlice(HEADER_BYTES + at, size).toArray(ValueLayout.JAVA_BYTE);
        int stored = head.getInt(16);
        Arrays.fill(bytes, 16, 20, (byte) 0);
        if (checksum(bytes, 0, size) != stored) return null;
        return new Entry(position, Kind.ALL[kind], Arrays.copyOfRange(bytes, RECORD_HEADER_BYTES, RECORD_HEADER_BYTES + payload));
    }

    /** Waits for whoever is writing; whoever comes later gets an {@link IllegalStateException}. */
    @Override
    public void close() {
        arena.close();
    }
}

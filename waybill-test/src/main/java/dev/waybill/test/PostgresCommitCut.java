package dev.waybill.test;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A proxy before PostgreSQL that strikes at the moment of COMMIT (case A18): it reads enough of the frontend/backend protocol 3 to know
 * which message completes a write transaction, be it an explicit COMMIT or the Sync behind an autocommit statement, simple or extended,
 * from named prepared statements too. Everything else, start-up and authentication included, passes untouched. Without TLS only.
 */
public final class PostgresCommitCut implements AutoCloseable {

    private enum Fate {
        REPLY_LOST,
        COMMIT_LOST
    }

    private record Plan(Fate fate, Predicate<String> sql) {}

    private final FaultProxy proxy;
    private final TestPostgres.Database target;
    private @Nullable Plan plan;
    private int left;

    private PostgresCommitCut(TestPostgres.Database target) {
        this.target = target;
        this.proxy = FaultProxy.to(target.host(), target.port(), Session::new);
    }

    /** A proxy before this database. */
    public static PostgresCommitCut before(TestPostgres.Database target) {
        return new PostgresCommitCut(target);
    }

    /** The database as seen through the proxy. */
    public TestPostgres.Database database() {
        return target.through(proxy.port());
    }

    /**
     * COMMIT passes, its reply does not: the transaction is durable when both sides of the connection are reset.
     *
     * @param sql   sees the text of every statement of the transaction that is about to complete; one true is enough
     * @param times how many transactions are struck
     */
    public void loseReply(Predicate<String> sql, int times) {
        arm(new Plan(Fate.REPLY_LOST, sql), times);
    }

    /** COMMIT never arrives: the server sees its connection end and rolls back, the client sees a reset. */
    public void loseCommit(Predicate<String> sql, int times) {
        arm(new Plan(Fate.COMMIT_LOST, sql), times);
    }

    private synchronized void arm(Plan next, int times) {
        plan = next;
        left = times;
    }

    /** No more cuts. */
    public synchronized void disarm() {
        plan = null;
    }

    /** Transactions struck so far. */
    public int cuts() {
        return proxy.cuts();
    }

    /** The proxy itself, for the other faults: refuse, reset. Its delays and stalls work, its drops and byte cuts do not. */
    public FaultProxy proxy() {
        return proxy;
    }

    @Override
    public void close() {
        proxy.close();
    }

    private synchronized @Nullable Fate fateOf(List<String> transaction) {
        Plan current = plan;
        if (current == null || left == 0 || transaction.stream().noneMatch(current.sql)) {
            return null;
        }
        left--;
        return current.fate;
    }

    /** One connection. A unit is what the client sends up to a Sync or a simple Query; it is passed on whole or not at all. */
    private final class Session implements FaultProxy.Tap {
        private static final int SSL_REQUEST = 80877103;
        private static final int GSS_REQUEST = 80877104;

        // Client side; only its pump touches these.
        private final ByteArrayOutputStream arrived = new ByteArrayOutputStream();
        private final ByteArrayOutputStream unit = new ByteArrayOutputStream();
        private final Map<String, String> statements = new HashMap<>();
        private final Map<String, String> portals = new HashMap<>();
        private final List<String> transaction = new ArrayList<>();
        private boolean started;
        private boolean explicit;
        private boolean completes;

        // Shared with the server's pump; guarded by this.
        private int bareRepliesAwaited;
        private int unitsSent;
        private int unitsAnswered;
        private int loseAnswersFrom = Integer.MAX_VALUE;
        private final ByteArrayOutputStream answered = new ByteArrayOutputStream();

        @Override
        public void pass(FaultProxy.Link link, FaultProxy.Direction direction, byte[] bytes, int length) throws IOException {
            if (direction == FaultProxy.Direction.REQUEST) {
                arrived.write(bytes, 0, length);
                fromClient(link);
            } else {
                fromServer(link, bytes, length);
            }
        }

        private void fromClient(FaultProxy.Link link) throws IOException {
            ByteBuffer buffer = ByteBuffer.wrap(arrived.toByteArray());
            int whole = 0;
            for (int size = frame(buffer); size > 0; size = frame(buffer)) {
                byte[] message = new byte[size];
                buffer.get(message);
                whole += size;
                if (started) {
                    message(link, message);
                } else {
                    startUp(link, message);
                }
            }
            byte[] rest = java.util.Arrays.copyOfRange(buffer.array(), whole, buffer.limit());
            arrived.reset();
            arrived.writeBytes(rest);
        }

        /** Size of the next message with its type byte, 0 when it is not there completely. Start-up messages have no type byte. */
        private int frame(ByteBuffer buffer) {
            int type = started ? 1 : 0;
            if (buffer.remaining() < type + 4) {
                return 0;
            }
            int size = type + buffer.getInt(buffer.position() + type);
            return buffer.remaining() >= size ? size : 0;
        }

        private void startUp(FaultProxy.Link link, byte[] message) throws IOException {
            int code = ByteBuffer.wrap(message).getInt(4);
            synchronized (this) {
                if (code == SSL_REQUEST || code == GSS_REQUEST) {
                    bareRepliesAwaited++;
                } else {
                    started = true;
                    unitsSent = 1; // the start-up ends in ReadyForQuery like any unit
                }
            }
            link.write(FaultProxy.Direction.REQUEST, message, message.length);
        }

        private void message(FaultProxy.Link link, byte[] message) throws IOException {
            unit.writeBytes(message);
            var text = new Text(message);
            switch (message[0]) {
                case 'P' -> statements.put(text.next(), text.next());
                case 'B' -> portals.put(text.next(), statements.getOrDefault(text.next(), ""));
                case 'E' -> executes(portals.getOrDefault(text.next(), ""));
                case 'Q' -> {
                    executes(text.next());
                    endOfUnit(link);
                }
                case 'S' -> endOfUnit(link);
                case 'D', 'C' -> {} // rides with its unit
                default -> passUnit(link); // password, copy data, flush, terminate: complete nothing
            }
        }

        /** Follows the transaction by its verbs, as the server will. */
        private void executes(String sql) {
            transaction.add(sql);
            for (String statement : sql.split(";")) {
                String verb = statement.strip().toUpperCase(Locale.ROOT);
                if (verb.startsWith("BEGIN") || verb.startsWith("START TRANSACTION")) {
                    explicit = true;
                } else if (verb.startsWith("COMMIT") || verb.equals("END") || verb.startsWith("END ")) {
                    explicit = false;
                    completes = true;
                } else if (verb.startsWith("ROLLBACK") && !verb.startsWith("ROLLBACK TO")) {
                    explicit = false;
                    transaction.clear();
                }
            }
        }

        private void endOfUnit(FaultProxy.Link link) throws IOException {
            boolean ends = completes || !explicit;
            Fate fate = ends && !transaction.isEmpty() ? fateOf(transaction) : null;
            if (ends) {
                transaction.clear();
                completes = false;
            }
            if (fate == Fate.COMMIT_LOST) {
                unit.reset();
                link.cut();
                return;
            }
            synchronized (this) {
                if (fate == Fate.REPLY_LOST) {
                    loseAnswersFrom = unitsSent;
                }
                unitsSent++;
            }
            passUnit(link);
        }

        private void passUnit(FaultProxy.Link link) throws IOException {
            link.write(FaultProxy.Direction.REQUEST, unit.toByteArray(), unit.size());
            unit.reset();
        }

        /** Counts ReadyForQuery; from the doomed unit's first byte on nothing passes, and its ReadyForQuery ends the link. */
        private synchronized void fromServer(FaultProxy.Link link, byte[] bytes, int length) throws IOException {
            answered.write(bytes, 0, length);
            ByteBuffer buffer = ByteBuffer.wrap(answered.toByteArray());
            var passed = new ByteArrayOutputStream();
            boolean committed = false;
            while (buffer.hasRemaining() && !committed) {
                if (bareRepliesAwaited > 0) {
                    bareRepliesAwaited--;
                    passed.write(buffer.get());
                    continue;
                }
                if (buffer.remaining() < 5 || buffer.remaining() < 1 + buffer.getInt(buffer.position() + 1)) {
                    break;
                }
                byte[] message = new byte[1 + buffer.getInt(buffer.position() + 1)];
                buffer.get(message);
                boolean lost = unitsAnswered >= loseAnswersFrom;
                if (!lost) {
                    passed.writeBytes(message);
                }
                if (message[0] == 'Z') {
                    unitsAnswered++;
                    committed = lost;
                }
            }
            byte[] rest = java.util.Arrays.copyOfRange(buffer.array(), buffer.position(), buffer.limit());
            answered.reset();
            answered.writeBytes(rest);
            link.write(FaultProxy.Direction.ANSWER, passed.toByteArray(), passed.size());
            if (committed) {
                link.cut();
            }
        }
    }

    /** The zero-terminated strings at the beginning of a message's body. */
    private static final class Text {
        private final byte[] message;
        private int position = 5;

        Text(byte[] message) {
            this.message = message;
        }

        String next() {
            int end = position;
            while (message[end] != 0) {
                end++;
            }
            String text = new String(message, position, end - position, StandardCharsets.UTF_8);
            position = end + 1;
            return text;
        }
    }
}

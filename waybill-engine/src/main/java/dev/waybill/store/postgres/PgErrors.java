package dev.waybill.store.postgres;

import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import java.sql.SQLException;
import java.sql.SQLWarning;
import org.jspecify.annotations.Nullable;

/** What a SQLSTATE means to us (PostgreSQL documentation, appendix A). */
final class PgErrors {
    static final String UNIQUE_VIOLATION = "23505";

    private PgErrors() {}

    /** The connection is gone (08, also I/O) or the server is going (57P01..57P03): whether a COMMIT on it held is not known. */
    static boolean connectionLost(SQLException e) {
        return state(e).isEmpty() || state(e).startsWith("08") || state(e).startsWith("57P0");
    }

    /** Serialization failure or deadlock: rolled back by the server, the same work may run again. */
    static boolean mayRunAgain(SQLException e) {
        return state(e).equals("40001") || state(e).equals("40P01");
    }

    /** The server looked at the rows and refused one: bad data (22), a constraint (23) or a size limit (54). */
    static boolean rowRefused(SQLException e) {
        return state(e).startsWith("22") || state(e).startsWith("23") || state(e).startsWith("54");
    }

    static boolean uniqueViolation(SQLException e) {
        return state(e).equals(UNIQUE_VIOLATION);
    }

    /**
     * A warning that came with a COMMIT: the wait for the synchronous standby was cancelled (01000, 57P01), the commit is local only and
     * a failover would lose it.
     *
     * @throws UnclearCommitException so that the caller asks again; the repeat's own COMMIT waits for the standby
     */
    static void refuseWarning(@Nullable SQLWarning warnings) {
        for (SQLWarning warning = warnings; warning != null; warning = warning.getNextWarning()) {
            String state = warning.getSQLState();
            if (state == null || !state.equals("00000")) {
                throw new UnclearCommitException("COMMIT came back with a warning: " + warning.getMessage(), warning);
            }
        }
    }

    static StoreException store(String what, SQLException e) {
        return new StoreException("PostgreSQL: " + what + ": " + e.getMessage() + " (" + state(e) + ")", e);
    }

    /** What a failed verb with a COMMIT in it means to its caller. */
    static RuntimeException ofWrite(String what, SQLException e) {
        return connectionLost(e)
                ? new UnclearCommitException("PostgreSQL: " + what + ": the answer was lost: " + e.getMessage(), e)
                : store(what, e);
    }

    static String state(SQLException e) {
        String state = e.getSQLState();
        return state == null ? "" : state;
    }
}

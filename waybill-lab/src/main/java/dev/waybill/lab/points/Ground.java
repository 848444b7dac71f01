package dev.waybill.lab.points;

import dev.waybill.store.Store;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;

/** Where trials have their database, one trial at a time. A machine's death takes its database away from it for good. */
interface Ground extends AutoCloseable {
    /** Before the first life of a trial. */
    void begin() throws IOException, SQLException;

    /** The store of one life. */
    Store open(Machine machine, Verbs verbs);

    /** Incarnations that are proven dead and that the store does not find out by itself. */
    List<UUID> toFence(List<UUID> dead);

    /** Waits until the database's time is past this. */
    void passTime(java.time.Instant until) throws InterruptedException;

    /** The clock of provider, client and journal; the database's, as good as it can be had. */
    InstantSource clock();

    /** For the checker; null when the trials of this ground share a database, which is then checked as a whole. */
    String url();

    /** Whether each trial has a database of its own. */
    boolean fresh();

    /** Whether a claim would take something now. */
    boolean due(Store raw) throws SQLException;

    /** What the database holds now that only a crash leaves: a claim, or a run that is due. For the account of windows. */
    Left left() throws SQLException;

    /** @param claimed runs that some node holds. @param due runs that nobody holds and that are due */
    record Left(int claimed, int due) {}

    Path directory();

    @Override
    void close();
}

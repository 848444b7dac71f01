package dev.waybill.store;

import dev.waybill.model.InstanceKey;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * The seam to a database. A verb is one transaction, says what it expected, and answers with a value; an exception means
 * infrastructure or a bug. The store knows nothing of blocks or HTTP. Behaviour is fixed by one conformance suite that every store
 * passes (store.md).
 *
 * <p>All times are the database's. {@code node} is always the incarnation id of a node: a process start has its own.
 */
public interface Store extends AutoCloseable {

    /** Creates or upgrades the schema; safe to call from several processes at once. */
    void migrate();

    /** What would make commits lie on this database. */
    Durability durability();

    /** For people, without credentials: {@code sqlite:FILE}, {@code postgresql://host:port/db}. */
    String description();

    /** What tells one history of the database from another (system identifier and timeline), or an empty string. */
    String historyId();

    // --- nodes: the lease ------------------------------------------------------------------------------------------------------

    /** Registers a new incarnation. The same one again extends its lease; a fenced one stays fenced. */
    void registerNode(UUID node, String name, Duration lease);

    /**
     * Extends the lease; a lease that ran out but was not fenced yet comes back to life.
     *
     * @return false when the node has been fenced (or is gone): it must stop and register a new incarnation
     */
    boolean heartbeat(UUID node, Duration lease);

    /** Fences one incarnation at once: only for one that is proven dead (its OS lock was won) or is shutting down itself. */
    void fence(UUID node);

    /**
     * Fences nodes whose lease has run out, then takes the claims of fenced nodes away in a bounded batch: epoch + 1, no owner, scheduled
     * and due now, takeovers + 1; the nonce becomes all zero.
     *
     * @return how many instances were freed; call again while it equals {@code limit}
     */
    int fenceAndFree(int limit);

    // --- admission -------------------------------------------------------------------------------------------------------------

    /**
     * Creates instances, each with its dedup key in one transaction; answers in the order of {@code batch}. Two members with one key:
     * the first creates.
     */
    List<StartAnswer> start(UUID node, List<Start> batch);

    // --- the owner of a claim --------------------------------------------------------------------------------------------------

    /**
     * Writes a batch of moves in one transaction, at most one per instance; answers in the order of {@code batch}. One member's
     * trouble never fails its neighbours. Submitting a commit again with the same transition id finds the first one.
     *
     * @param again a repeat: look for the first one's rows before anything else
     * @throws IllegalArgumentException when two members move one instance
     * @throws UnclearCommitException when the answer to COMMIT was lost: submit the identical batch again with {@code again = true}
     */
    List<CommitAnswer> commit(UUID node, List<Commit> batch, boolean again);

    // --- whoever is not the owner ----------------------------------------------------------------------------------------------

    OutsideAnswer settleFromOutside(OutsideMove move);

    // --- claims ----------------------------------------------------------------------------------------------------------------

    /**
     * Claims up to {@code limit} due instances for the node: fair across tenants, by priority then due time. The first of every
     * tenant comes before the second of any; among equals by priority, due time, id. The claim is (epoch + 1, nonce), the state
     * running.
     *
     * @param nonce random, new for every call
     * @return empty when the node is fenced or expired
     */
    List<InstanceSnapshot> claim(UUID node, UUID nonce, int limit);

    /**
     * What the claims of this node under this nonce own still. For a claim or start whose answer was lost: nobody else may run these
     * while the node lives. An empty answer proves nothing yet: a lost COMMIT may land late.
     */
    List<InstanceKey> claimedUnder(UUID node, UUID nonce);

    /** Milliseconds until the next unclaimed instance is due (0 = now), at most {@code horizon}. */
    long millisUntilNextDue(Duration horizon);

    // --- reads -----------------------------------------------------------------------------------------------------------------

    Optional<InstanceSnapshot> load(InstanceKey key);

    /** Which of these receipts exist; for the check after trouble or a change of history. */
    List<UUID> existingReceipts(String tenant, Collection<UUID> ids);

    /** What people and the API read. Never used for a decision. */
    Queries queries();

    /** What the operators' desk keeps and looks for. */
    DeskStore desk();

    /** Published sequence versions. */
    SequenceStore sequences();

    /** Endpoints that events are sent to; empty where a store keeps none (the one in memory). */
    default Optional<WebhookStore> webhooks() {
        return Optional.empty();
    }

    /** Calls people; empty where a store keeps no record of it (the one in memory). */
    default Optional<EscalationStore> escalations() {
        return Optional.empty();
    }

    /** Destinations that are held. */
    DestinationHolds holds();

    /**
     * Has every new connection that owners' commits go over checked before its first commit: behind it may be another history of the
     * database (a standby that was promoted, a backup). What the check throws reaches the committer, nothing is written, and the
     * connection is not used. At most one check; a store that cannot lose its connection never asks.
     */
    void onCommitConnection(ConnectionCheck check);

    /** See {@link #onCommitConnection}. */
    @FunctionalInterface
    interface ConnectionCheck {
        /** @param receipts what is there, read over that very connection */
        void opened(ReceiptLookup receipts);
    }

    /** Which of these receipts exist. */
    @FunctionalInterface
    interface ReceiptLookup {
        List<UUID> existing(String tenant, Collection<UUID> ids);
    }

    /** A hint that something became due or changed; correctness never depends on it. */
    void onNotification(Runnable listener);

    @Override
    void close();
}

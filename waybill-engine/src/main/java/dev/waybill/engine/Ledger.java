package dev.waybill.engine;

import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.Event;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.JournalRow;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Queries.InstanceFilter;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Store;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Remembers what this node dispatched in the last minutes and compares it with the database after trouble: a failover or a restore that
 * lost dispatched rows erases the only proof that something was sent. Then nothing more is dispatched: the missing receipts are put
 * back as unknown and every unfinished run is paused, {@code ledger_may_be_behind}, until a person accepts (semantics.md section 8).
 */
final class Ledger {
    static final String REASON = "ledger_may_be_behind";
    private static final Logger LOG = LoggerFactory.getLogger(Ledger.class);
    /** At most this long and this many: an asynchronous standby is behind by seconds, not minutes. */
    private static final Duration REMEMBER = Duration.ofMinutes(5);

    private static final int MAX_REMEMBERED = 50_000;
    private static final int PAGE = 500;
    private static final Set<InstanceState> UNFINISHED =
            Set.of(InstanceState.SCHEDULED, InstanceState.RUNNING, InstanceState.WAITING);

    private record Dispatched(InstanceKey instance, ReceiptRow receipt, long nanos) {}

    private final Host host;
    private final Store store;
    private final Supplier<UUID> ids;
    private final Meter meter;
    private final ArrayDeque<Dispatched> remembered = new ArrayDeque<>();
    /** A lock and no monitor: the database is asked under it, and a simulated scheduler sees who waits for a lock. */
    private final ReentrantLock comparing = new ReentrantLock();

    private volatile boolean suspect;
    private volatile long comparisons;
    private volatile String history = "";
    private volatile int historyChanges;

    Ledger(Host host, Store store, Supplier<UUID> ids, Meter meter) {
        this.host = host;
        this.store = store;
        this.ids = ids;
        this.meter = meter;
        store.onCommitConnection(this::compareOn);
    }

    /** How often {@link #lookAtHistory} has found another history. */
    int historyChanges() {
        return historyChanges;
    }

    /** How often memory was compared; take it before a commit, for {@link #dispatched}. */
    long comparisons() {
        return comparisons;
    }

    /**
     * Remembers what these commits dispatched. Called by the committer that wrote them, before anybody hears of it; a comparison that
     * ran while they were written cannot have seen them, so another is asked for.
     */
    void dispatched(List<Commit> batch, List<CommitAnswer> answers, long comparisonsBefore) {
        long now = host.nanoTime();
        synchronized (remembered) {
            for (int i = 0; i < batch.size(); i++) {
                if (answers.get(i) instanceof CommitAnswer.Settled settled && settled.intents() == IntentAnswer.DISPATCHED) {
                    for (ReceiptRow receipt : batch.get(i).intents()) {
                        // A duplicate was not written: missed later, it would look like a database that has lost it.
                        if (!settled.duplicates().containsKey(receipt.path())) {
                            remembered.addLast(new Dispatched(batch.get(i).instance(), receipt, now));
                        }
                    }
                }
            }
            while (!remembered.isEmpty()
                    && (remembered.size() > MAX_REMEMBERED || now - remembered.getFirst().nanos > REMEMBER.toNanos())) {
                remembered.removeFirst();
            }
            if (comparisons != comparisonsBefore) {
                suspect = true;
            }
        }
    }

    /** A connection was lost or a verb failed: another database may answer next. */
    void suspect() {
        suspect = true;
    }

    /**
     * Looks whether another history answers than before: a promoted standby or a restored server that a pooler put in place without an
     * error anybody saw.
     */
    void lookAtHistory() {
        String now = store.historyId();
        String before = history;
        history = now;
        if (!before.isEmpty() && !now.isEmpty() && !now.equals(before)) {
            LOG.warn("the database's history changed from {} to {}: what was dispatched is compared with it", before, now);
            historyChanges++;
            suspect();
            checkIfSuspect();
        }
    }

    /** Compares memory and database if there was trouble; call it before anything may be dispatched again. */
    void checkIfSuspect() {
        comparing.lock();
        try {
            if (!suspect) {
                return;
            }
            suspect = false; // first: a suspicion raised meanwhile stays
            compare(store::existingReceipts);
        } catch (RuntimeException e) {
            suspect = true;
            throw e;
        } finally {
            comparing.unlock();
        }
    }

    /** A new connection for commits, whatever is behind it: nothing is written over it before this has returned. */
    private void compareOn(Store.ReceiptLookup lookup) {
        comparing.lock();
        try {
            compare(lookup);
        } finally {
            comparing.unlock();
        }
    }

    private void compare(Store.ReceiptLookup lookup) {
        List<Dispatched> all;
        synchronized (remembered) {
            all = List.copyOf(remembered);
            comparisons++;
        }
        Map<String, Map<UUID, Dispatched>> byTenant = new HashMap<>();
        for (Dispatched one : all) {
            byTenant.computeIfAbsent(one.instance.tenant(), t -> new HashMap<>()).put(one.receipt.id(), one);
        }
        List<Dispatched> missing = new ArrayList<>();
        byTenant.forEach((tenant, receipts) -> {
            Set<UUID> there = new HashSet<>(lookup.existing(tenant, receipts.keySet()));
            receipts.forEach((id, one) -> {
                if (!there.contains(id)) {
                    missing.add(one);
                }
            });
        });
        if (!missing.isEmpty()) {
            LOG.error(
                    "LEDGER_MAY_BE_BEHIND {} receipts that were dispatched are missing from {}: unfinished runs are paused until"
                            + " 'waybill store accept'",
                    missing.size(),
                    store.description());
            meter.count("waybill_ledger_behind_total", missing.size());
            reassert(missing);
            pauseUnfinished();
        }
    }

    private void reassert(List<Dispatched> missing) {
        Map<InstanceKey, List<ReceiptRow>> byInstance = new HashMap<>();
        for (Dispatched one : missing) {
            byInstance.computeIfAbsent(one.instance, i -> new ArrayList<>()).add(one.receipt);
        }
        byInstance.forEach((instance, receipts) -> {
            UUID transition = ids.get();
            List<JournalRow> journal = new ArrayList<>();
            List<Event> events = new ArrayList<>();
            for (ReceiptRow receipt : receipts) {
                journal.add(unknown(receipt, transition));
                events.add(Events.effectUnknown(instance, receipt, REASON));
            }
            OutsideMove move = new OutsideMove(
                    instance, transition, null, Set.of(), receipts, journal, List.of(), List.of(), null, null, Set.of(), true,
                    pauseReasons(), events, null);
            if (Certain.outside(host, store, move) instanceof OutsideAnswer.NotFound) {
                LOG.error("LEDGER_MAY_BE_BEHIND run {} itself is missing; it had dispatched {}", instance,
                        receipts.stream().map(ReceiptRow::id).toList());
            }
        });
    }

    private static JournalRow unknown(ReceiptRow receipt, UUID transition) {
        return new JournalRow(
                receipt.path(), receipt.attempt(), 1, EffectState.DISPATCHED, EffectState.UNKNOWN, "recovery", null, transition, null,
                REASON, "the database lost this receipt after it was dispatched", null, null, true, null, null, OutputState.NONE, null,
                null);
    }

    static String pauseReasons() {
        return "[{\"reason\":\"" + REASON + "\",\"next\":\"waybill store accept\"}]";
    }

    /** Pauses every unfinished run of every tenant; also what {@code --restored} does at start. */
    int pauseUnfinished() {
        int paused = 0;
        while (true) {
            List<InstanceRecord> page = store.queries().instances(new InstanceFilter(InstanceFilter.ALL_TENANTS, UNFINISHED, null, Map.of(), null, PAGE, 0));
            int moved = 0;
            for (InstanceRecord one : page) {
                OutsideAnswer answer = Certain.outside(host, store, new OutsideMove(
                        one.key(), ids.get(), null, UNFINISHED, List.of(), List.of(), List.of(), List.of(), null, null, Set.of(), true,
                        pauseReasons(), List.of(), null));
                if (answer instanceof OutsideAnswer.Applied) {
                    moved++;
                }
            }
            paused += moved;
            if (page.size() < PAGE || moved == 0) {
                return paused;
            }
        }
    }
}

package dev.waybill.engine;

import dev.waybill.EngineOptions;
import dev.waybill.model.InstanceKey;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.Store;
import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the moves of this node's turns, sharded by instance. An answer is always certain: an unclear COMMIT is submitted again with
 * the same transition ids until the database says what became of it; an unreachable database is waited for (the answers of calls wait in
 * memory meanwhile). After any trouble the ledger is checked before another intent may commit (semantics.md section 8, After a failover).
 */
final class Committer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Committer.class);
    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MAX_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final List<Batcher<Commit, CommitAnswer>> shards = new ArrayList<>();
    private final Host host;
    private final Store store;
    private final Supplier<UUID> node;
    private final Ledger ledger;
    private final Meter meter;
    private volatile boolean closing;

    Committer(Host host, Store store, Supplier<UUID> node, Ledger ledger, EngineOptions options, Meter meter) {
        this.host = host;
        this.store = store;
        this.node = node;
        this.ledger = ledger;
        this.meter = meter;
        for (int i = 0; i < options.committers(); i++) {
            shards.add(new Batcher<>(host, "waybill-committer-" + i, options.maxBatch(), this::apart));
        }
    }

    CompletableFuture<CommitAnswer> submit(Commit commit) {
        long mixed = commit.instance().id().getMostSignificantBits() ^ commit.instance().id().getLeastSignificantBits();
        return shards.get(Math.floorMod(Long.hashCode(mixed), shards.size())).submit(commit);
    }

    /**
     * One transaction moves a run once. Two turns of one run can meet in a batch: a node that was fenced and came back has claimed it
     * again while the turn of its old claim is still about to hear that it is lost.
     */
    private List<CommitAnswer> apart(List<Commit> batch) {
        CommitAnswer[] answers = new CommitAnswer[batch.size()];
        List<Integer> left = IntStream.range(0, batch.size()).boxed().toList();
        while (!left.isEmpty()) {
            Set<InstanceKey> moved = new HashSet<>();
            Map<Boolean, List<Integer>> parts = left.stream().collect(Collectors.partitioningBy(i -> moved.add(batch.get(i).instance())));
            List<Integer> now = parts.getOrDefault(true, List.of());
            List<CommitAnswer> part = write(now.stream().map(batch::get).toList());
            for (int i = 0; i < part.size(); i++) {
                answers[now.get(i)] = part.get(i);
            }
            left = parts.getOrDefault(false, List.of());
        }
        return Arrays.asList(answers);
    }

    private List<CommitAnswer> write(List<Commit> batch) {
        boolean again = false;
        long pause = FIRST_PAUSE_NANOS;
        while (true) {
            try {
                ledger.checkIfSuspect();
                long comparisons = ledger.comparisons();
                List<CommitAnswer> answers = store.commit(node.get(), batch, again);
                ledger.dispatched(batch, answers, comparisons);
                meter.count("waybill_commits_total", 1);
                meter.record("waybill_commit_batch_size", batch.size());
                return answers;
            } catch (UnclearCommitException e) {
                again = true;
                ledger.suspect();
                meter.count("waybill_commits_unclear_total", 1);
                LOG.warn("the answer to a commit of {} moves was lost; it is submitted again: {}", batch.size(), e.getMessage());
                if (closing) {
                    throw e;
                }
            } catch (StoreException e) {
                ledger.suspect();
                meter.count("waybill_commits_refused_total", 1);
                LOG.warn("{} moves wait for the database: {}", batch.size(), e.getMessage());
                if (closing) {
                    throw e;
                }
            }
            host.pause(pause);
            pause = Math.min(pause * 2, MAX_PAUSE_NANOS);
        }
    }

    @Override
    public void close() {
        closing = true;
        shards.forEach(Batcher::close);
    }
}

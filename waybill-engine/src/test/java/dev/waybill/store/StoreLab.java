package dev.waybill.store;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectKind;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.ReceiptId;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/** A fresh database with a store on it, and what the sentences of the conformance suite need to arrange. */
public abstract class StoreLab implements AutoCloseable {
    public static final String TENANT = "acme";
    public static final UUID NO_NONCE = new UUID(0, 0);
    private static final Duration LEASE = Duration.ofHours(1);
    private static final AtomicLong COUNTER = new AtomicLong();

    /** A migrated store on this lab's own database; always the same handle. */
    public abstract Store store();

    /** A second handle onto the same database, where the store allows it. */
    public Store other() {
        return store();
    }

    /** Lets the lease of a node run out, in database time, without fencing it. */
    public abstract void expireLease(UUID node);

    /** Statements as the engine's own database user may run them; empty where there is no SQL. */
    public Optional<Sql> sql() {
        return Optional.empty();
    }

    public interface Sql {
        void execute(String statement) throws Exception;
    }

    @Override
    public abstract void close();

    // --- arranging -------------------------------------------------------------------------------------------------------------

    /** Grows with every call, as UUID version 7 does with time. */
    public static UUID nextId() {
        long n = COUNTER.incrementAndGet();
        return new UUID((0x0190_0000_0000L + n) << 16 | 0x7000L, 0x8000_0000_0000_0000L | n);
    }

    public static InstanceKey nextKey() {
        return new InstanceKey(TENANT, nextId());
    }

    public UUID node() {
        UUID node = nextId();
        store().registerNode(node, "node-" + node, LEASE);
        return node;
    }

    public static Start start(InstanceKey key) {
        return start(key, null, null, null);
    }

    public static Start start(InstanceKey key, String dedupKey, String payloadSha256, Claim claim) {
        return new Start(
                key, key.id(), NO_NONCE, "default", 1, 0, "{\"data\":{},\"config\":{}}", null, dedupKey == null ? null : "orders",
                dedupKey, payloadSha256, claim);
    }

    public static Start start(InstanceKey key, int priority, long fireInMillis, String context, String metadata) {
        return new Start(
                key, key.id(), NO_NONCE, "default", priority, fireInMillis, context, metadata, null, null, null, null);
    }

    /** A new instance that nobody has claimed yet. */
    public InstanceKey scheduled() {
        InstanceKey key = nextKey();
        store().start(nextId(), List.of(start(key)));
        return key;
    }

    /** A new instance that {@code node} owns. */
    public Owned owned(UUID node) {
        InstanceKey key = nextKey();
        Claim claim = new Claim(1, nextId());
        store().start(node, List.of(start(key, null, null, claim)));
        return new Owned(this, key, node, claim);
    }

    /** Claims whatever is due and gives the one that was meant. */
    public Owned claim(UUID node, InstanceKey key) {
        UUID nonce = nextId();
        InstanceSnapshot mine = store().claim(node, nonce, 1_000).stream()
                .filter(snapshot -> snapshot.instance().key().equals(key))
                .findFirst()
                .orElseThrow();
        return new Owned(this, key, node, mine.instance().claim());
    }

    public InstanceSnapshot load(InstanceKey key) {
        return store().load(key).orElseThrow();
    }

    public InstanceRecord record(InstanceKey key) {
        return load(key).instance();
    }

    /** An instance and the claim under which a test moves it. */
    public record Owned(StoreLab lab, InstanceKey key, UUID node, Claim claim) {
        public Move move() {
            return new Move(key, claim, node);
        }

        public CommitAnswer commit(Move move) {
            return lab.store().commit(node, List.of(move.commit()), false).getFirst();
        }

        public CommitAnswer again(Move move) {
            return lab.store().commit(node, List.of(move.commit()), true).getFirst();
        }

        /** The receipt of {@code path} stands as dispatched. */
        public Owned dispatched(String path) {
            commit(move().intent(path, 0));
            return this;
        }

        /** The receipt of {@code path} stands as unknown. */
        public Owned unknown(String path) {
            dispatched(path);
            commit(move().unknown(path, 0, 1));
            return this;
        }

        /** Gives the claim up and waits. */
        public Owned waiting() {
            commit(move().release(dev.waybill.model.InstanceState.WAITING, null, lab.record(key).wakeSeq()));
            return this;
        }

        public InstanceSnapshot load() {
            return lab.load(key);
        }
    }

    public static ReceiptRow receipt(InstanceKey key, Claim claim, UUID node, UUID transition, String path, int attempt) {
        return new ReceiptRow(
                ReceiptId.of(key.id(), key.id(), path, attempt), key.id(), path, attempt, false, EffectKind.HTTP, "http_request",
                "http_request https://pay.example", "f00d" + path.hashCode(), "key-" + key.id() + path, "beef" + path.hashCode(),
                "{\"url\":\"https://pay.example\",\"body\":{\"amount\":4200}}", claim, node, transition, 60_000, 86_400_000L, null,
                "{\"order\":\"A-" + path + "\",\"cents\":4200}", null, null);
    }
}

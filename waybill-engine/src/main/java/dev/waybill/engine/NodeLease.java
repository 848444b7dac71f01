package dev.waybill.engine;

import dev.waybill.EngineOptions;
import dev.waybill.store.Store;
import dev.waybill.store.StoreException;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This node's lease on the database clock: registered at start, extended from its own platform thread, given up at the end. A node that
 * finds itself fenced takes a new incarnation; its old claims are gone and their late answers go on as late truth.
 */
final class NodeLease implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(NodeLease.class);

    private final Host host;
    private final Store store;
    private final String name;
    private final EngineOptions options;
    private final Supplier<UUID> ids;
    private final Consumer<UUID> onIncarnation;
    private final CountDownLatch stop = new CountDownLatch(1);
    private volatile UUID incarnation;
    private volatile long extendedAtNanos;
    private final Thread thread;

    /**
     * @param onIncarnation told of every incarnation before it is registered, so that it can be written down
     */
    NodeLease(Host host, Store store, String name, EngineOptions options, Supplier<UUID> ids, Consumer<UUID> onIncarnation) {
        this.host = host;
        this.store = store;
        this.name = name;
        this.options = options;
        this.ids = ids;
        this.onIncarnation = onIncarnation;
        this.incarnation = register();
        this.thread = host.platform("waybill-heartbeat", this::run);
        thread.start();
    }

    private UUID register() {
        UUID fresh = ids.get();
        onIncarnation.accept(fresh);
        long before = host.nanoTime();
        store.registerNode(fresh, name, options.lease());
        extendedAtNanos = before;
        return fresh;
    }

    UUID incarnation() {
        return incarnation;
    }

    /** Whether the lease still lives by this process's own clock; the database decides, this only saves a round trip. */
    boolean alive() {
        return host.nanoTime() - extendedAtNanos < options.lease().toNanos();
    }

    private void run() {
        try {
            while (!host.await(stop, options.heartbeat().toNanos())) {
                beat();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void beat() {
        long before = host.nanoTime();
        try {
            if (store.heartbeat(incarnation, options.lease())) {
                extendedAtNanos = before;
            } else {
                LOG.warn("NODE_FENCED node {} was fenced while it was away; it goes on under a new incarnation", incarnation);
                incarnation = register();
            }
        } catch (StoreException e) {
            LOG.warn("the lease of node {} could not be extended: {}", incarnation, e.getMessage());
        } catch (RuntimeException e) {
            LOG.error("the heartbeat of node {} failed", incarnation, e);
        }
    }

    /** Stops extending and fences this incarnation, so that others take over what is left at once. */
    @Override
    public void close() {
        stop.countDown();
        try {
            host.join(thread, TimeUnit.SECONDS.toNanos(5));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        try {
            store.fence(incarnation);
        } catch (RuntimeException e) {
            LOG.warn("node {} could not be signed off; its lease runs out by itself: {}", incarnation, e.getMessage());
        }
    }
}

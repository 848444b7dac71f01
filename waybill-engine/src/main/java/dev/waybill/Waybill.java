package dev.waybill;

import dev.waybill.engine.Meter;
import dev.waybill.handler.Handler;
import dev.waybill.json.SecretSource;
import dev.waybill.operate.Effects;
import dev.waybill.operate.Runs;
import dev.waybill.operate.Sequences;
import dev.waybill.store.Durability;
import dev.waybill.store.Queries;
import dev.waybill.store.Store;
import java.nio.file.Path;
import java.util.List;
import javax.sql.DataSource;

/** The facade and composition root: opens an engine on a store, wired by hand. */
public final class Waybill implements AutoCloseable {

    /** An embedded engine on one SQLite file. */
    public static Builder sqlite(Path file) {
        throw new UnsupportedOperationException();
    }

    /** {@code sqlite:FILE} or {@code postgresql://USER[:PASS]@HOST:PORT/DB}. */
    public static Builder url(String storeUrl) {
        throw new UnsupportedOperationException();
    }

    /** An engine on the application's own PostgreSQL. */
    public static Builder postgres(DataSource dataSource) {
        throw new UnsupportedOperationException();
    }

    public static Builder store(Store store) {
        throw new UnsupportedOperationException();
    }

    public Sequences sequences() {
        throw new UnsupportedOperationException();
    }

    public Runs runs() {
        throw new UnsupportedOperationException();
    }

    public Effects effects() {
        throw new UnsupportedOperationException();
    }

    /** What people and the API read. */
    public Queries queries() {
        throw new UnsupportedOperationException();
    }

    public String storeDescription() {
        throw new UnsupportedOperationException();
    }

    public Durability durability() {
        throw new UnsupportedOperationException();
    }

    /** True while this node is registered, its lease lives, it is not draining and the store answers. */
    public boolean ready() {
        throw new UnsupportedOperationException();
    }

    /** Calls {@code listener} whenever something of interest to {@link Queries#changes} may have been written by this node. */
    public void onChange(Runnable listener) {
        throw new UnsupportedOperationException();
    }

    /** Drains (semantics.md section 8): stops claiming, settles what is in flight within the drain time, gives claims up. */
    @Override
    public void close() {
        throw new UnsupportedOperationException();
    }

    public static final class Builder {
        /** Registers a handler under a name that is not built in. */
        public Builder handler(String name, Handler handler) {
            throw new UnsupportedOperationException();
        }

        public Builder secrets(SecretSource secrets) {
            throw new UnsupportedOperationException();
        }

        public Builder options(EngineOptions options) {
            throw new UnsupportedOperationException();
        }

        public Builder meter(Meter meter) {
            throw new UnsupportedOperationException();
        }

        /** Exact {@code host:port} pairs that http_request may call although they are internal addresses. */
        public Builder allowAddresses(List<String> hostPorts) {
            throw new UnsupportedOperationException();
        }

        /** For people, in lists of nodes; default: host name and pid. */
        public Builder nodeName(String name) {
            throw new UnsupportedOperationException();
        }

        /** Where this node keeps its lock and identity, so that a restart on the same machine goes on at once. */
        public Builder nodeDirectory(Path directory) {
            throw new UnsupportedOperationException();
        }

        /** Migrates, checks durability, registers the node and starts. */
        public Waybill open() {
            throw new UnsupportedOperationException();
        }
    }

}

package dev.waybill.test;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A TCP proxy on loopback whose network can be made to fail. Faults hold for the links there are and those to come, until {@link #heal};
 * bytes are never reordered. All methods are safe for concurrent use.
 */
public final class FaultProxy implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FaultProxy.class);

    /** Which half of a link. */
    public enum Direction {
        /** Client to server. */
        REQUEST,
        /** Server to client. */
        ANSWER
    }

    /** Sees every piece of a link's bytes and decides what is passed on; one per link. */
    interface Tap {
        void pass(Link link, Direction direction, byte[] bytes, int length) throws IOException;
    }

    private final int port;
    private final Supplier<Tap> taps;
    private final Set<Link> links = ConcurrentHashMap.newKeySet();
    private final AtomicInteger accepted = new AtomicInteger();
    private final AtomicInteger cuts = new AtomicInteger();
    private final Map<Direction, AtomicLong> bytes = new EnumMap<>(Map.of(Direction.REQUEST, new AtomicLong(), Direction.ANSWER, new AtomicLong()));

    // Guarded by this; a stalled pump waits on it.
    private final Map<Direction, Boolean> stalled = new EnumMap<>(Direction.class);
    private final Map<Direction, Boolean> dropped = new EnumMap<>(Direction.class);
    private final Map<Direction, Long> cutAfter = new EnumMap<>(Direction.class);
    private final Map<Direction, byte[]> patterns = new EnumMap<>(Direction.class);
    private Duration delay = Duration.ZERO;
    private InetSocketAddress target;
    private boolean closed;
    private @Nullable Acceptor acceptor;

    private FaultProxy(String targetHost, int targetPort, @Nullable Supplier<Tap> taps) {
        this.target = new InetSocketAddress(targetHost, targetPort);
        this.taps = taps != null ? taps : PlainTap::new;
        this.port = Ports.free();
        listen();
    }

    /** A proxy that listens on a free loopback port. */
    public static FaultProxy to(String host, int port) {
        return new FaultProxy(host, port, null);
    }

    static FaultProxy to(String host, int port, Supplier<Tap> taps) {
        return new FaultProxy(host, port, taps);
    }

    public int port() {
        return port;
    }

    /** From now on links lead there, as a virtual address does after a failover; those there are end with a reset. */
    public void retarget(String host, int port) {
        synchronized (this) {
            target = new InetSocketAddress(host, port);
        }
        reset();
    }

    private synchronized InetSocketAddress target() {
        return target;
    }

    /** Links accepted so far. */
    public int connections() {
        return accepted.get();
    }

    /** Links open now. */
    public int openLinks() {
        return links.size();
    }

    /** Bytes passed on so far. */
    public long bytes(Direction direction) {
        return count(direction).get();
    }

    /** Links cut so far by {@link #cutAfter}, {@link #cutAt} or a tap. */
    public int cuts() {
        return cuts.get();
    }

    private AtomicLong count(Direction direction) {
        return java.util.Objects.requireNonNull(bytes.get(direction));
    }

    // --- faults ----------------------------------------------------------------------------------------------------------------

    /** Every piece of data waits that long, both ways. */
    public synchronized void delay(Duration perPiece) {
        delay = perPiece;
    }

    /** Nothing passes in that direction, and nobody is told: the link is half open. */
    public synchronized void stall(Direction... directions) {
        for (Direction direction : directions) {
            stalled.put(direction, true);
        }
    }

    /** What goes that way is read and thrown away. */
    public synchronized void drop(Direction direction) {
        dropped.put(direction, true);
    }

    /** Each link is reset on both sides when it has passed exactly so many bytes that way (those before count). */
    public synchronized void cutAfter(Direction direction, long linkBytes) {
        cutAfter.put(direction, linkBytes);
    }

    /** A link is reset on both sides right before this pattern passes that way. */
    public synchronized void cutAt(Direction direction, byte[] pattern) {
        patterns.put(direction, pattern.clone());
    }

    /** FIN that way on every link there is; the other way goes on. */
    public void halfClose(Direction direction) {
        links.forEach(link -> link.finish(direction));
    }

    /** RST to both sides of every link there is. */
    public void reset() {
        links.forEach(Link::reset);
    }

    /** New connections are refused by the kernel; those there are go on. */
    public synchronized void refuse() {
        try {
            if (acceptor != null) {
                acceptor.close();
                acceptor = null;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The network is sound again; what was cut stays cut, what was stalled goes on. */
    public synchronized void heal() {
        delay = Duration.ZERO;
        stalled.clear();
        dropped.clear();
        cutAfter.clear();
        patterns.clear();
        notifyAll();
        if (acceptor == null && !closed) {
            listen();
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            closed = true;
        }
        refuse();
        heal();
        reset();
    }

    // --- links -----------------------------------------------------------------------------------------------------------------

    private void listen() {
        try {
            acceptor = new Acceptor(port, this::connect);
        } catch (IOException e) {
            throw new UncheckedIOException("fault proxy cannot listen on " + port, e);
        }
    }

    private void connect(Socket client) {
        accepted.incrementAndGet();
        var server = new Socket();
        var link = new Link(client, server);
        try {
            server.connect(target());
            client.setTcpNoDelay(true);
            server.setTcpNoDelay(true);
        } catch (IOException targetIsDown) {
            link.reset();
            return;
        }
        links.add(link);
        synchronized (this) {
            if (closed) {
                link.reset();
            }
        }
        Tap tap = taps.get();
        Thread.ofVirtual().start(() -> pump(link, Direction.REQUEST, tap));
        Thread.ofVirtual().start(() -> pump(link, Direction.ANSWER, tap));
    }

    private void pump(Link link, Direction direction, Tap tap) {
        byte[] buffer = new byte[32 * 1024];
        try {
            InputStream in = link.from(direction).getInputStream();
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                awaitLeave(link);
                awaitThaw(direction, link);
                tap.pass(link, direction, buffer, read);
            }
            awaitThaw(direction, link);
            link.finish(direction);
        } catch (IOException oneSideIsGone) {
            // What broke on one side breaks on the other: a proxy must not make a reset look like an end.
            link.reset();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            link.reset();
        }
    }

    private void awaitLeave(Link link) throws InterruptedException {
        Duration wait;
        synchronized (this) {
            wait = delay;
        }
        if (!wait.isZero()) {
            link.awaitEnd(wait);
        }
    }

    private synchronized void awaitThaw(Direction direction, Link link) throws InterruptedException {
        while (stalled.containsKey(direction) && !link.isDead()) {
            wait();
        }
    }

    /** Applies drop and cut; the only tap a proxy for any protocol needs. */
    private final class PlainTap implements Tap {
        private final Map<Direction, Long> passed = new EnumMap<>(Direction.class);
        private final Map<Direction, byte[]> tails = new EnumMap<>(Direction.class);

        @Override
        public void pass(Link link, Direction direction, byte[] piece, int length) throws IOException {
            Long limit;
            byte[] pattern;
            synchronized (FaultProxy.this) {
                if (dropped.containsKey(direction)) {
                    return;
                }
                limit = cutAfter.get(direction);
                pattern = patterns.get(direction);
            }
            long before;
            int room = length;
            boolean cut = false;
            synchronized (this) {
                before = passed.merge(direction, 0L, Long::sum);
                if (limit != null && before + length >= limit) {
                    room = (int) Math.max(0, limit - before);
                    cut = true;
                }
                int found = pattern == null ? -1 : find(direction, pattern, piece, length);
                if (found >= 0 && found <= room) {
                    room = found;
                    cut = true;
                }
                passed.put(direction, before + room);
            }
            link.write(direction, piece, room);
            if (cut) {
                link.cut();
            }
        }

        /** Where in {@code piece} the pattern begins; 0 when it began in an earlier piece. -1 = not here. */
        private int find(Direction direction, byte[] pattern, byte[] piece, int length) {
            byte[] tail = tails.getOrDefault(direction, new byte[0]);
            byte[] window = java.util.Arrays.copyOf(tail, tail.length + length);
            System.arraycopy(piece, 0, window, tail.length, length);
            for (int i = 0; i + pattern.length <= window.length; i++) {
                if (java.util.Arrays.equals(window, i, i + pattern.length, pattern, 0, pattern.length)) {
                    return Math.max(0, i - tail.length);
                }
            }
            int keep = Math.min(window.length, pattern.length - 1);
            tails.put(direction, java.util.Arrays.copyOfRange(window, window.length - keep, window.length));
            return -1;
        }
    }

    /** One client's connection and ours to the target. */
    final class Link {
        private final Socket client;
        private final Socket server;
        private final Map<Direction, Boolean> finished = new EnumMap<>(Direction.class);
        private boolean dead;

        Link(Socket client, Socket server) {
            this.client = client;
            this.server = server;
        }

        private Socket from(Direction direction) {
            return direction == Direction.REQUEST ? client : server;
        }

        private Socket to(Direction direction) {
            return direction == Direction.REQUEST ? server : client;
        }

        void write(Direction direction, byte[] piece, int length) throws IOException {
            if (length > 0 && !isFinished(direction)) {
                to(direction).getOutputStream().write(piece, 0, length);
                count(direction).addAndGet(length);
            }
        }

        /** After a fault's FIN the sender goes on unaware, and what it sends is lost. */
        private synchronized boolean isFinished(Direction direction) {
            return finished.containsKey(direction);
        }

        /** FIN that way; when both ways have ended the link is gone. */
        private void finish(Direction direction) {
            boolean both;
            synchronized (this) {
                finished.put(direction, true);
                both = finished.size() == 2;
            }
            try {
                if (!to(direction).isOutputShutdown()) {
                    to(direction).shutdownOutput();
                }
                if (both) {
                    die();
                    client.close();
                    server.close();
                }
            } catch (IOException alreadyGone) {
                reset();
            }
        }

        /** A fault ends the link. */
        void cut() {
            cuts.incrementAndGet();
            reset();
        }

        /** RST to both sides. */
        void reset() {
            die();
            for (Socket socket : new Socket[] {client, server}) {
                try (socket) {
                    socket.setSoLinger(true, 0);
                } catch (IOException alreadyGone) {
                    LOG.trace("reset of a socket that was gone", alreadyGone);
                }
            }
        }

        private void die() {
            synchronized (this) {
                dead = true;
                notifyAll();
            }
            links.remove(this);
            synchronized (FaultProxy.this) {
                FaultProxy.this.notifyAll();
            }
        }

        private synchronized boolean isDead() {
            return dead;
        }

        private synchronized void awaitEnd(Duration atMost) throws InterruptedException {
            long deadline = System.nanoTime() + atMost.toNanos();
            for (long left = atMost.toNanos(); left > 0 && !dead; left = deadline - System.nanoTime()) {
                TimeUnit.NANOSECONDS.timedWait(this, left);
            }
        }
    }
}

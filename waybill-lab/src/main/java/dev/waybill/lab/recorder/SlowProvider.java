package dev.waybill.lab.recorder;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.random.RandomGenerator;

/**
 * Answers every request after a while, and knows to the nanosecond what it has seen and said. Its book is in memory: it is not what is
 * killed.
 */
final class SlowProvider implements AutoCloseable {
    private static final int MAX_HEAD_BYTES = 16 * 1024;
    /** The path whose requests are answered at once. */
    static final String AT_ONCE = "warm";

    private static final String EFFECT_ID = "waybill-effect-id:";

    /** How one receipt's request went. {@code answeredNanos}: the whole answer is with the kernel; 0 = not yet. */
    static final class Seen {
        final AtomicInteger deliveries = new AtomicInteger();
        volatile long answeredNanos;
    }

    private final ServerSocket server;
    private final RandomGenerator random;
    private final long longest;
    private final Map<String, Seen> seen = new ConcurrentHashMap<>();

    SlowProvider(RandomGenerator random, Duration longest) throws IOException {
        this.server = new ServerSocket(0, 500, InetAddress.getLoopbackAddress());
        this.random = random;
        this.longest = longest.toNanos();
        Thread.ofPlatform().daemon().name("provider").start(this::accept);
    }

    int port() {
        return server.getLocalPort();
    }

    Map<String, Seen> seen() {
        return seen;
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket socket = server.accept();
                Thread.ofVirtual().start(() -> serve(socket));
            } catch (IOException e) {
                if (!server.isClosed()) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            InputStream in = new BufferedInputStream(socket.getInputStream());
            String head = head(in);
            int length = Integer.parseInt(value(head, "content-length:"));
            Seen one = seen.computeIfAbsent(value(head, EFFECT_ID), id -> new Seen());
            int number = one.deliveries.incrementAndGet();
            in.readNBytes(length);
            if (!head.startsWith("post /" + AT_ONCE + " ")) {
                LockSupport.parkNanos(nap());
            }
            byte[] body = ("{\"id\":\"ch_" + value(head, EFFECT_ID) + "_" + number + "\"}").getBytes(StandardCharsets.US_ASCII);
            String answer = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " + body.length
                    + "\r\n\r\n" + new String(body, StandardCharsets.US_ASCII);
            socket.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
            one.answeredNanos = System.nanoTime();
        } catch (IOException | NumberFormatException gone) {
            // The caller was killed; what it had sent until then is in the book.
        }
    }

    private long nap() {
        synchronized (random) {
            return random.nextLong(longest / 10, longest);
        }
    }

    private static String head(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (!head.toString().endsWith("\r\n\r\n")) {
            int next = in.read();
            if (next < 0 || head.length() > MAX_HEAD_BYTES) {
                throw new IOException("no request");
            }
            head.append((char) next);
        }
        return head.toString().toLowerCase(java.util.Locale.ROOT);
    }

    private static String value(String head, String name) {
        int at = head.indexOf("\r\n" + name);
        return at < 0 ? "" : head.substring(at + 2 + name.length(), head.indexOf("\r\n", at + 2)).strip();
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}

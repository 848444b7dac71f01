package dev.waybill.transport;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ServerSocketFactory;

/** A provider on loopback that misbehaves at the level of bytes, and counts what really arrived. */
public final class FaultServer implements AutoCloseable {

    /** What one connection does. An IOException (the client went away) ends it. */
    public interface Script {
        void run(Connection connection) throws IOException, InterruptedException;
    }

    /** One request as it came. */
    public record Request(String method, String target, Map<String, List<String>> headers, byte[] body) {
        public String header(String name) {
            List<String> values = headers.getOrDefault(name.toLowerCase(Locale.ROOT), List.of());
            return values.isEmpty() ? null : String.join(", ", values);
        }

        public String text() {
            return new String(body, StandardCharsets.UTF_8);
        }
    }

    private final ServerSocket server;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Queue<Socket> sockets = new ConcurrentLinkedQueue<>();
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicInteger seen = new AtomicInteger();
    private final List<Request> requests = new java.util.concurrent.CopyOnWriteArrayList<>();

    public FaultServer(Script script) {
        this(script, ServerSocketFactory.getDefault());
    }

    public FaultServer(Script script, ServerSocketFactory factory) {
        this(script, factory, 0);
    }

    public FaultServer(Script script, ServerSocketFactory factory, int port) {
        try {
            server = factory.createServerSocket(port, 50, InetAddress.ofLiteral("127.0.0.1"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().start(() -> accept(script));
    }

    /** Answers every request the same way and closes. */
    public static FaultServer answering(String answer) {
        return new FaultServer(c -> {
            c.read();
            c.write(answer);
        });
    }

    /** A whole answer with the length of its body. */
    public static String answer(String statusLine, String headers, String body) {
        int length = body.getBytes(StandardCharsets.UTF_8).length;
        return "HTTP/1.1 " + statusLine + "\r\nContent-Length: " + length + "\r\n" + headers + "\r\n" + body;
    }

    public static String json(String statusLine, String body) {
        return answer(statusLine, "Content-Type: application/json\r\n", body);
    }

    public int port() {
        return server.getLocalPort();
    }

    public String hostPort() {
        return "127.0.0.1:" + port();
    }

    public String url(String path) {
        return "http://" + hostPort() + path;
    }

    /** Requests whose head was read. */
    public int seen() {
        return seen.get();
    }

    public int connections() {
        return connections.get();
    }

    public List<Request> requests() {
        return requests;
    }

    public Request request() {
        return requests.getFirst();
    }

    private void accept(Script script) {
        while (true) {
            Socket socket;
            try {
                socket = server.accept();
            } catch (IOException e) {
                return;
            }
            connections.incrementAndGet();
            sockets.add(socket);
            Thread.ofVirtual().start(() -> {
                try (socket) {
                    script.run(new Connection(socket));
                } catch (IOException | InterruptedException e) {
                    // The client went away, or the test is over.
                }
            });
        }
    }

    @Override
    public void close() throws IOException {
        closed.countDown();
        server.close();
        for (Socket socket : sockets) socket.close();
    }

    /** One connection, from the server's side. */
    public final class Connection {
        public final Socket socket;
        private final InputStream in;

        Connection(Socket socket) throws IOException {
            this.socket = socket;
            this.in = socket.getInputStream();
        }

        /** Reads one whole request; counts it as soon as its head is there. */
        public Request read() throws IOException {
            ByteArrayOutputStream head = new ByteArrayOutputStream();
            while (!head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
                int b = in.read();
                if (b < 0) throw new IOException("ended within the head");
                head.write(b);
            }
            seen.incrementAndGet();
            String[] lines = head.toString(StandardCharsets.ISO_8859_1).split("\r\n");
            Map<String, List<String>> headers = new TreeMap<>();
            for (String line : List.of(lines).subList(1, lines.length)) {
                int colon = line.indexOf(':');
                headers.computeIfAbsent(line.substring(0, colon).toLowerCase(Locale.ROOT), name -> new ArrayList<>())
                        .add(line.substring(colon + 1).strip());
            }
            int length = Integer.parseInt(headers.getOrDefault("content-length", List.of("0")).getFirst());
            String[] first = lines[0].split(" ");
            Request request = new Request(first[0], first[1], headers, in.readNBytes(length));
            requests.add(request);
            return request;
        }

        public void write(String text) throws IOException {
            write(text.getBytes(StandardCharsets.ISO_8859_1));
        }

        public void write(byte[] bytes) throws IOException {
            socket.getOutputStream().write(bytes);
            socket.getOutputStream().flush();
        }

        /** Closes with RST instead of FIN. */
        public void reset() throws IOException {
            socket.setSoLinger(true, 0);
            socket.close();
        }

        /** Says nothing more until the server is closed. */
        public void stall() throws InterruptedException {
            closed.await();
        }

        /** Waits until the client ends the connection. */
        public void untilClientIsGone() throws IOException {
            while (in.read() >= 0) {
                // Nothing more is expected.
            }
        }
    }
}

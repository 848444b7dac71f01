package dev.waybill.lab.points;

import dev.waybill.transport.SocketTap;
import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The phases of a send as boundaries of a {@link Machine}: {@code dial}, {@code connected}, each write {@code before}, with half of its
 * bytes gone and {@code after}, and the answer {@code status} line, {@code head}, half of the body, all that came, {@code end}. Calls are
 * told apart by the path that the engine names their thread after.
 */
final class WireTap implements SocketTap {
    private static final String CALL_THREAD = "waybill-call-";

    private final Machine machine;
    private final AtomicLong made;

    /** @param made counts the connections that really came to be, over all machines */
    WireTap(Machine machine, AtomicLong made) {
        this.machine = machine;
        this.made = made;
    }

    private String call(String what) {
        String thread = Thread.currentThread().getName();
        String name = "wire:" + (thread.startsWith(CALL_THREAD) ? thread.substring(CALL_THREAD.length()) : thread) + ":" + what;
        return name + "#" + machine.next(name);
    }

    private void at(Socket socket, String what) throws IOException {
        if (machine.at(call(what))) {
            socket.close();
            throw new IOException("the lab cut the connection at " + what);
        }
    }

    @Override
    public void dialling(InetSocketAddress address) {
        // An error here is one of the handler's own; the next point has the network's.
        machine.at(call("dial"));
    }

    @Override
    public void connected(Socket socket) throws IOException {
        made.incrementAndGet();
        machine.connected(socket);
        at(socket, "connected");
    }

    @Override
    public OutputStream out(Socket socket, OutputStream out) {
        return new FilterOutputStream(out) {
            @Override
            public void write(int b) throws IOException {
                write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int count) throws IOException {
                int half = count / 2;
                at(socket, "send");
                put(bytes, offset, half);
                at(socket, "half_sent");
                put(bytes, offset + half, count - half);
                at(socket, "sent");
            }

            private void put(byte[] bytes, int offset, int count) throws IOException {
                machine.alive(() -> {
                    out.write(bytes, offset, count);
                    return true;
                });
            }
        };
    }

    @Override
    public InputStream in(Socket socket, InputStream in) {
        return new Answer(socket, in);
    }

    /** Hands the answer out in parts, however it came. */
    private final class Answer extends FilterInputStream {
        private final Socket socket;
        private byte[] pending = new byte[0];
        private int from;
        private int part;

        Answer(Socket socket, InputStream in) {
            super(in);
            this.socket = socket;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] bytes, int offset, int count) throws IOException {
            if (from == pending.length && !fill()) {
                at(socket, "end");
                return -1;
            }
            int end = partEnd();
            int n = Math.min(count, end - from);
            System.arraycopy(pending, from, bytes, offset, n);
            from += n;
            if (from == end) {
                at(socket, new String[] {"status", "head", "half_read", "read"}[Math.min(part++, 3)]);
            }
            return n;
        }

        private boolean fill() throws IOException {
            byte[] some = new byte[8_192];
            int n;
            try {
                n = in.read(some);
            } catch (IOException e) {
                if (machine.isDead()) {
                    throw machine.rest();
                }
                throw e;
            }
            if (machine.isDead()) {
                throw machine.rest();
            }
            pending = n < 0 ? new byte[0] : java.util.Arrays.copyOf(some, n);
            from = 0;
            return n >= 0;
        }

        /** Where the present part ends: the status line, the head, half of what is left, the rest. */
        private int partEnd() {
            int head = find("\r\n\r\n");
            return switch (part) {
                case 0 -> find("\r\n");
                case 1 -> head;
                case 2 -> from + Math.max(1, (pending.length - from) / 2);
                default -> pending.length;
            };
        }

        private int find(String mark) {
            int at = new String(pending, java.nio.charset.StandardCharsets.ISO_8859_1).indexOf(mark, Math.max(0, from - 2));
            return at < 0 ? pending.length : at + mark.length();
        }
    }
}

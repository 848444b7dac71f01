package dev.waybill.transport;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.SocketFactory;
import okhttp3.Dns;

/**
 * What happens on the wire of one call, seen at the plaintext side of its socket (for TLS: above the handshake). That is the only place
 * where "zero bytes of the request left" is a fact and not an inference: nothing the HTTP library does can reach the network but
 * through {@link #tapped(OutputStream, Socket)}, whichever exception it throws afterwards. A handshake that fails has sent no byte of the
 * request; the library's own {@code requestHeadersStart} event would say the same, but it fires before the last look and before a
 * write that never happens.
 */
final class Wire implements Dns {
    private final Destination destination;
    private final WireRequest request;
    private final SocketTap tap;
    private final AtomicBoolean permit = new AtomicBoolean(true);
    private final AnswerHead head = new AnswerHead();
    private boolean offered;
    private boolean late;
    private boolean refused;
    private boolean ended;

    Wire(WireRequest request, SocketTap tap) {
        this.request = request;
        this.destination = request.destination();
        this.tap = tap;
    }

    WireRequest request() {
        return request;
    }

    /** The receipt's promise in one line: a second pass of the HTTP library, for whatever reason, is an error and not a send. */
    void takePermit() throws IOException {
        if (!permit.compareAndSet(true, false)) throw new IOException("a second send of one call was refused");
    }

    /** True once a byte of the request was handed to the network; pessimistic where the write then failed. */
    boolean offered() {
        return offered;
    }

    /** True when the last look said no: nothing was sent. */
    boolean late() {
        return late;
    }

    /** True when whoever had to note the first byte could not: nothing was sent. */
    boolean refused() {
        return refused;
    }

    /** True when the other side ended the connection in order. */
    boolean ended() {
        return ended;
    }

    AnswerHead head() {
        return head;
    }

    @Override
    public List<InetAddress> lookup(String hostname) throws UnknownHostException {
        if (!hostname.equals(destination.url().host())) throw new UnknownHostException("only the vetted host is dialled");
        return destination.addresses();
    }

    SocketFactory sockets() {
        return new Sockets();
    }

    /** The vetted address is the dialled address, whatever happened to the name since (case A35). */
    private void check(SocketAddress endpoint) throws IOException {
        boolean vetted = endpoint instanceof InetSocketAddress inet
                && inet.getPort() == destination.url().port()
                && destination.addresses().contains(inet.getAddress());
        if (!vetted) throw new IOException("an address that was not vetted was about to be dialled");
    }

    OutputStream tapped(OutputStream out, Socket socket) {
        return new FilterOutputStream(out) {
            @Override
            public void write(int b) throws IOException {
                write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int count) throws IOException {
                if (!offered) {
                    lastLook(socket);
                    note(socket);
                }
                offered = true;
                out.write(bytes, offset, count);
            }
        };
    }

    private void lastLook(Socket socket) throws IOException {
        if (!request.late().getAsBoolean()) return;
        late = true;
        // Closed, or the library would go on to wait for an answer to a request that never left.
        socket.close();
        throw new IOException("the send deadline has passed");
    }

    private void note(Socket socket) throws IOException {
        try {
            request.firstByte().run();
        } catch (IllegalStateException e) {
            refused = true;
            socket.close();
            throw new IOException("the first byte could not be noted", e);
        }
    }

    InputStream tapped(InputStream in) {
        return new FilterInputStream(in) {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
            }

            @Override
            public int read(byte[] bytes, int offset, int count) throws IOException {
                int n = in.read(bytes, offset, count);
                if (n < 0) ended = true;
                else head.append(bytes, offset, n);
                return n;
            }
        };
    }

    /** A TCP connection that dials vetted addresses only and, without TLS, taps its own streams. */
    final class WireSocket extends Socket {
        private WireSocket() {
            // Not new Socket(): that one asks the system's SOCKS settings.
            super(java.net.Proxy.NO_PROXY);
        }

        Wire wire() {
            return Wire.this;
        }

        @Override
        public void connect(SocketAddress endpoint, int timeoutMillis) throws IOException {
            check(endpoint);
            tap.dialling((InetSocketAddress) endpoint);
            super.connect(endpoint, timeoutMillis);
            check(getRemoteSocketAddress());
            setTcpNoDelay(true);
            tap.connected(this);
        }

        @Override
        public InputStream getInputStream() throws IOException {
            InputStream in = tap.in(this, super.getInputStream());
            return destination.url().isHttps() ? in : tapped(in);
        }

        @Override
        public OutputStream getOutputStream() throws IOException {
            OutputStream out = tap.out(this, super.getOutputStream());
            return destination.url().isHttps() ? out : tapped(out, this);
        }
    }

    private final class Sockets extends SocketFactory {
        @Override
        public Socket createSocket() {
            return new WireSocket();
        }

        @Override
        public Socket createSocket(String host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress localHost, int localPort) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort) {
            throw new UnsupportedOperationException();
        }
    }
}

package dev.waybill.test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A listening loopback port with the virtual thread that accepts on it. */
final class Acceptor implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Acceptor.class);
    private static final int BACKLOG = 256;

    private final ServerSocket listener;
    private final Thread thread;

    /** @param port 0 = any. @param accepted gets each connection on a virtual thread of its own */
    Acceptor(int port, Consumer<Socket> accepted) throws IOException {
        this.listener = new ServerSocket();
        try {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), BACKLOG);
        } catch (IOException e) {
            listener.close();
            throw e;
        }
        this.thread = Thread.ofVirtual().name("accept-" + listener.getLocalPort()).start(() -> accept(accepted));
    }

    int port() {
        return listener.getLocalPort();
    }

    private void accept(Consumer<Socket> accepted) {
        while (!listener.isClosed()) {
            try {
                Socket socket = listener.accept();
                Thread.ofVirtual().name("link-" + port()).start(() -> accepted.accept(socket));
            } catch (IOException e) {
                if (!listener.isClosed()) {
                    LOG.warn("port {} could not accept a connection", port(), e);
                }
            }
        }
    }

    /** Returns when the kernel refuses: a socket that a virtual thread accepts on is really closed only when that thread has left. */
    @Override
    public void close() throws IOException {
        listener.close();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

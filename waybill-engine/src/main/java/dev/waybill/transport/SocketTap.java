package dev.waybill.transport;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * Sees each connection of the transport below everything that judges it: for tests that cut, count or stop at exact bytes. For TLS it
 * sees what is encrypted. All methods run on the call's thread.
 */
@FunctionalInterface
public interface SocketTap {
    SocketTap NONE = address -> {};

    /** Right before the address is dialled. */
    void dialling(InetSocketAddress address);

    default void connected(Socket socket) throws IOException {}

    /** @return what the transport reads from */
    default InputStream in(Socket socket, InputStream in) {
        return in;
    }

    /** @return what the transport writes to */
    default OutputStream out(Socket socket, OutputStream out) {
        return out;
    }
}

package dev.waybill.test;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A socket and nothing between: sees what really came over the wire. Reads give up after 20 s, so that no test hangs. */
final class RawClient implements AutoCloseable {
    private final Socket socket;
    private final InputStream in;

    RawClient(int port) throws IOException {
        this.socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setSoTimeout(20_000);
        socket.setTcpNoDelay(true);
        this.in = socket.getInputStream();
    }

    Socket socket() {
        return socket;
    }

    RawClient send(String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
        return this;
    }

    RawClient post(String path, String body, String... headers) throws IOException {
        return send("POST " + path + " HTTP/1.1\r\nHost: acme\r\nContent-Length: " + body.getBytes(StandardCharsets.UTF_8).length + "\r\n"
                + String.join("", java.util.Arrays.stream(headers).map(header -> header + "\r\n").toList()) + "\r\n" + body);
    }

    RawClient get(String path) throws IOException {
        return send("GET " + path + " HTTP/1.1\r\nHost: acme\r\n\r\n");
    }

    /** Everything until FIN. @throws java.net.SocketException on RST */
    String readToEnd() throws IOException {
        return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }

    /** Exactly so many bytes. */
    String read(int bytes) throws IOException {
        byte[] read = in.readNBytes(bytes);
        return new String(read, StandardCharsets.UTF_8);
    }

    /** Through the empty line. */
    String readHead() throws IOException {
        var head = new ByteArrayOutputStream();
        while (!head.toString(StandardCharsets.US_ASCII).endsWith("\r\n\r\n")) {
            int next = in.read();
            if (next < 0) {
                throw new IOException("connection ended in the head: " + head);
            }
            head.write(next);
        }
        return head.toString(StandardCharsets.US_ASCII);
    }

    Reply readReply() throws IOException {
        String head = readHead();
        String length = head.replaceAll("(?is).*content-length: (\\d+).*", "$1");
        return new Reply(Integer.parseInt(head.substring(9, 12)), head, length.matches("\\d+") ? read(Integer.parseInt(length)) : "");
    }

    int available() throws IOException {
        return in.available();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    record Reply(int status, String head, String body) {}
}

package dev.waybill.test;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** One client connection of the fake provider, on its own virtual thread: reads requests, lets the script decide, plays the wire. */
final class ProviderConnection implements Runnable {
    private final FakeProvider provider;
    private final Socket socket;
    private final long number;

    ProviderConnection(FakeProvider provider, Socket socket, long number) {
        this.provider = provider;
        this.socket = socket;
        this.number = number;
    }

    @Override
    public void run() {
        try (socket) {
            socket.setTcpNoDelay(true); // a fault that sends six bytes means six bytes now
            converse(new BufferedInputStream(socket.getInputStream()), socket.getOutputStream());
        } catch (IOException clientOrProviderLeft) {
            // Nobody is left to tell; what was read before stands in the ledger.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            provider.forget(socket);
        }
    }

    private void converse(InputStream in, OutputStream out) throws IOException, InterruptedException {
        var reader = new HttpRequestReader(in, out);
        try {
            provider.pause(0);
            boolean more = true;
            while (more) {
                HttpRequestReader.Head head = reader.readHead();
                more = head != null && serve(head, reader, out);
            }
        } catch (HttpRequestReader.BadRequestException e) {
            provider.badRequest(number, e);
            send(out, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", new byte[0]);
        }
    }

    /** @return whether another request may come */
    private boolean serve(HttpRequestReader.Head head, HttpRequestReader reader, OutputStream out)
            throws IOException, InterruptedException {
        long seen = provider.headRead();
        byte[] body;
        try {
            body = reader.readBody(head);
        } catch (IOException e) {
            provider.ledgerFile().delivery(new Delivery(seen, number, head, new byte[0]), "incomplete: " + e.getMessage(), null);
            throw e;
        }
        var delivery = new Delivery(seen, number, head, body);
        Behaviour behaviour = provider.arrived(delivery);
        provider.hold(behaviour.beforeBooking(), delivery);
        PaymentsApi.Answer answer = provider.book(delivery, behaviour).overlaid(behaviour);
        provider.hold(behaviour.beforeAnswer(), delivery);
        provider.answering(delivery, behaviour, answer);
        return play(delivery, behaviour, answer, out);
    }

    private boolean play(Delivery delivery, Behaviour behaviour, PaymentsApi.Answer answer, OutputStream out)
            throws IOException, InterruptedException {
        byte[] body = answer.body();
        switch (behaviour.wire()) {
            case Behaviour.Wire.Whole() -> {
                boolean keep = delivery.keepsAlive() && answer.status() >= 200;
                send(out, head(delivery, answer, keep, body.length), hasBody(delivery, answer) ? body : new byte[0]);
                if (keep && behaviour.closeAfterMillis() == null) {
                    return true;
                }
            }
            case Behaviour.Wire.Reset() -> {
                socket.setSoLinger(true, 0);
                return false;
            }
            case Behaviour.Wire.Close() -> {}
            case Behaviour.Wire.Silence(long millis) -> provider.silence(delivery, millis);
            case Behaviour.Wire.Stall(int bytes) -> {
                send(out, head(delivery, answer, true, body.length), Arrays.copyOf(body, Math.min(bytes, body.length)));
                provider.silence(delivery, 0);
            }
            case Behaviour.Wire.Truncated(int declared, int sent) ->
                send(out, head(delivery, answer, true, declared), padded(body, sent));
            case Behaviour.Wire.ChunkWithoutEnd() -> {
                var chunk = new ByteArrayOutputStream();
                chunk.writeBytes((Integer.toHexString(body.length) + "\r\n").getBytes(StandardCharsets.US_ASCII));
                chunk.writeBytes(body);
                chunk.writeBytes(new byte[] {'\r', '\n'});
                send(out, head(answer, Map.of("Transfer-Encoding", "chunked")), chunk.toByteArray());
            }
            case Behaviour.Wire.CloseDelimited(int bytes) ->
                send(out, head(answer, Map.of("Connection", "close")), bytes < 0 ? body : Arrays.copyOf(body, Math.min(bytes, body.length)));
            case Behaviour.Wire.PartialStatusLine() -> send(out, "HTTP/1.1 2", new byte[0]);
            case Behaviour.Wire.Garbage() -> send(out, "\u0015\u0003\u0001 this is no HTTP\r\n\r\n", new byte[0]);
            case Behaviour.Wire.Drip(int bytesPerSecond) -> {
                send(out, head(delivery, answer, true, body.length), new byte[0]);
                for (byte one : body) {
                    provider.pause(1000L / bytesPerSecond);
                    out.write(one);
                }
            }
            case Behaviour.Wire.Big(long bytes) -> sendBig(delivery, answer, bytes, out);
        }
        if (behaviour.closeAfterMillis() != null) {
            provider.pause(behaviour.closeAfterMillis());
        } else {
            socket.shutdownOutput();
        }
        return false;
    }

    private static void send(OutputStream out, String head, byte[] body) throws IOException {
        var all = new ByteArrayOutputStream();
        all.writeBytes(head.getBytes(StandardCharsets.ISO_8859_1));
        all.writeBytes(body);
        out.write(all.toByteArray());
        out.flush();
    }

    private static boolean hasBody(Delivery delivery, PaymentsApi.Answer answer) {
        return !delivery.method().equals("HEAD") && answer.status() >= 200 && answer.status() != 204 && answer.status() != 304;
    }

    private static String head(Delivery delivery, PaymentsApi.Answer answer, boolean keepAlive, long length) {
        Map<String, String> framing = new TreeMap<>();
        if (hasBody(delivery, answer) || delivery.method().equals("HEAD")) {
            framing.put("Content-Length", Long.toString(length));
        }
        if (!keepAlive) {
            framing.put("Connection", "close");
        }
        return head(answer, framing);
    }

    private static String head(PaymentsApi.Answer answer, Map<String, String> framing) {
        Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        headers.put("Content-Type", "application/json");
        headers.putAll(framing);
        headers.putAll(answer.headers());
        var head = new StringBuilder(String.format(Locale.ROOT, "HTTP/1.1 %d %s\r\n", answer.status(), phrase(answer.status())));
        headers.forEach((name, value) -> head.append(name).append(": ").append(value).append("\r\n"));
        return head.append("\r\n").toString();
    }

    private static String phrase(int status) {
        return switch (status) {
            case 200 -> "OK";
            case 201 -> "Created";
            case 202 -> "Accepted";
            default -> "Status " + status;
        };
    }

    private static byte[] padded(byte[] body, int length) {
        byte[] bytes = Arrays.copyOf(body, length);
        if (length > body.length) {
            Arrays.fill(bytes, body.length, length, (byte) ' ');
        }
        return bytes;
    }

    /** The answer's own members first, then a member "padding" that fills it up. */
    private static void sendBig(Delivery delivery, PaymentsApi.Answer answer, long bytes, OutputStream out) throws IOException {
        String own = new String(answer.body(), StandardCharsets.UTF_8).strip();
        String start = own.startsWith("{") && own.length() > 2 ? own.substring(0, own.length() - 1) + ",\"padding\":\"" : "{\"padding\":\"";
        byte[] first = start.getBytes(StandardCharsets.UTF_8);
        long padding = bytes - first.length - 2;
        if (padding < 0) {
            throw new EOFException("a big body of " + bytes + " bytes has no room for the answer itself");
        }
        send(out, head(delivery, answer, true, bytes), first);
        byte[] block = new byte[64 * 1024];
        Arrays.fill(block, (byte) 'x');
        for (long left = padding; left > 0; left -= block.length) {
            out.write(block, 0, (int) Math.min(left, block.length));
        }
        out.write(new byte[] {'"', '}'});
    }
}

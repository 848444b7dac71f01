package dev.waybill.test;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Reads HTTP/1.1 requests (RFC 9112) off a socket: head and body apart, so that a head without its body is noticed. */
final class HttpRequestReader {
    private static final int MAX_HEAD_BYTES = 256 * 1024;
    private static final long MAX_BODY_BYTES = 256L * 1024 * 1024;

    private final InputStream in;
    private final OutputStream out;

    HttpRequestReader(InputStream in, OutputStream out) {
        this.in = in;
        this.out = out;
    }

    /** @param raw the head as it came, without the empty line */
    record Head(String method, String target, String version, NavigableMap<String, List<String>> headers, String raw) {
        @Nullable String header(String name) {
            List<String> values = headers.get(name);
            return values == null ? null : values.getFirst();
        }

        boolean keepsAlive() {
            String connection = header("Connection");
            return version.equals("HTTP/1.1") && (connection == null || !connection.equalsIgnoreCase("close"));
        }
    }

    static final class BadRequestException extends IOException {
        private static final long serialVersionUID = 1;

        BadRequestException(String message) {
            super(message);
        }
    }

    /** @return null when the connection ended before a first byte */
    @Nullable Head readHead() throws IOException {
        var bytes = new ByteArrayOutputStream();
        int newlines = 0;
        while (newlines < 2) {
            int next = in.read();
            if (next < 0) {
                if (bytes.size() == 0) {
                    return null;
                }
                throw new EOFException("connection ended inside the request head");
            }
            if (bytes.size() == 0 && !isTokenOrNewline(next)) {
                // A TLS client at a plain-text port waits for an answer that a line reader would never give.
                throw new BadRequestException("not the beginning of a request: byte " + next);
            }
            // RFC 9112 2.2: ignore an empty line before the request line.
            if (bytes.size() > 0 || (next != '\r' && next != '\n')) {
                bytes.write(next);
                newlines = next == '\n' ? newlines + 1 : next == '\r' ? newlines : 0;
            }
            if (bytes.size() > MAX_HEAD_BYTES) {
                throw new BadRequestException("request head over " + MAX_HEAD_BYTES + " bytes");
            }
        }
        return parse(bytes.toString(StandardCharsets.ISO_8859_1).stripTrailing());
    }

    private static boolean isTokenOrNewline(int next) {
        return next == '\r' || next == '\n' || (next >= 'A' && next <= 'Z') || (next >= 'a' && next <= 'z');
    }

    private static Head parse(String raw) throws BadRequestException {
        String[] lines = raw.split("\r\n");
        String[] request = lines[0].split(" ");
        if (request.length != 3 || !request[2].startsWith("HTTP/1.")) {
            throw new BadRequestException("not a request line: " + lines[0]);
        }
        NavigableMap<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        for (int i = 1; i < lines.length; i++) {
            int colon = lines[i].indexOf(':');
            if (colon <= 0 || lines[i].charAt(colon - 1) == ' ') {
                throw new BadRequestException("not a header line: " + lines[i]);
            }
            headers.computeIfAbsent(lines[i].substring(0, colon), name -> new ArrayList<>()).add(lines[i].substring(colon + 1).strip());
        }
        return new Head(request[0], request[1], request[2], headers, raw);
    }

    byte[] readBody(Head head) throws IOException {
        if ("100-continue".equalsIgnoreCase(head.header("Expect"))) {
            out.write("HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            out.flush();
        }
        String encoding = head.header("Transfer-Encoding");
        if (encoding != null) {
            if (!encoding.equalsIgnoreCase("chunked")) {
                throw new BadRequestException("transfer encoding " + encoding);
            }
            return readChunks();
        }
        String length = head.header("Content-Length");
        return length == null ? new byte[0] : readExactly(number(length, 10));
    }

    private byte[] readChunks() throws IOException {
        var body = new ByteArrayOutputStream();
        while (true) {
            String line = readLine();
            int extension = line.indexOf(';');
            long size = number((extension < 0 ? line : line.substring(0, extension)).strip(), 16);
            if (size == 0) {
                while (!readLine().isEmpty()) {
                    // trailers say nothing to us
                }
                return body.toByteArray();
            }
            body.writeBytes(readExactly(size));
            if (body.size() > MAX_BODY_BYTES) {
                throw new BadRequestException("request body over " + MAX_BODY_BYTES + " bytes");
            }
            if (!readLine().isEmpty()) {
                throw new BadRequestException("chunk longer than its size");
            }
        }
    }

    private static long number(String text, int radix) throws BadRequestException {
        try {
            long value = Long.parseLong(text, radix);
            if (value < 0 || value > MAX_BODY_BYTES) {
                throw new BadRequestException("length out of bounds: " + text);
            }
            return value;
        } catch (NumberFormatException e) {
            throw new BadRequestException("not a length: " + text);
        }
    }

    private byte[] readExactly(long length) throws IOException {
        byte[] bytes = in.readNBytes((int) length);
        if (bytes.length < length) {
            throw new EOFException("body ended after " + bytes.length + " of " + length + " bytes");
        }
        return bytes;
    }

    private String readLine() throws IOException {
        var line = new StringBuilder();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new EOFException("body ended inside a chunk line");
            }
            if (line.length() > 8192) {
                throw new BadRequestException("chunk line too long");
            }
            line.append((char) next);
        }
        return line.toString().stripTrailing();
    }
}

package dev.waybill.transport;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The first bytes of an answer as they came. The HTTP library reports an answer only after its last header; whether a complete status
 * line came, which decides the outcome, can be seen only here.
 */
final class AnswerHead {
    /** Enough for a status line behind a few interim answers, in bytes. */
    private static final int LIMIT = 8 * 1024;

    /** No complete status line, and nothing that contradicts one: no byte at all, or interim (1xx) answers only. */
    static final int NONE = 0;
    /** Bytes came, and they are no complete status line. */
    static final int GARBLED = -1;

    private static final Pattern STATUS_LINE = Pattern.compile("HTTP/1\\.[01] ([0-9]{3})(?: [^\\n]*)?\\r?", Pattern.DOTALL);

    private byte[] bytes = new byte[512];
    private int length;

    void append(byte[] source, int offset, int count) {
        int taken = Math.min(count, LIMIT - length);
        if (taken <= 0) return;
        if (length + taken > bytes.length) bytes = Arrays.copyOf(bytes, Math.max(length + taken, bytes.length * 2));
        System.arraycopy(source, offset, bytes, length, taken);
        length += taken;
    }

    /** The final status, or {@link #NONE} or {@link #GARBLED}. */
    int status() {
        int at = 0;
        while (at < length) {
            int end = lineEnd(at);
            if (end < 0) return length == LIMIT ? NONE : GARBLED;
            Matcher line = STATUS_LINE.matcher(new String(bytes, at, end - at, StandardCharsets.ISO_8859_1));
            if (!line.matches()) return GARBLED;
            int status = Integer.parseInt(line.group(1));
            // 101 ends HTTP on this connection, so nothing final can follow it.
            if (status >= 200 || status == 101) return status;
            if (status < 100) return GARBLED;
            at = afterHeaders(end + 1);
        }
        return NONE;
    }

    private int lineEnd(int from) {
        for (int i = from; i < length; i++) if (bytes[i] == '\n') return i;
        return -1;
    }

    private int afterHeaders(int from) {
        for (int at = from; at < length; ) {
            int end = lineEnd(at);
            if (end < 0) return length;
            if (end == at || (end == at + 1 && bytes[at] == '\r')) return end + 1;
            at = end + 1;
        }
        return length;
    }
}

package dev.waybill.json;

import dev.waybill.model.WaybillException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * One byte sequence per JSON value: RFC 8785 (JCS) where a double holds the number exactly, the exact decimal where it does not, so
 * that 1, 1.0 and 1e0 are one value and 9007199254740993 and 9007199254740992 are two (semantics.md section 3, case A25). Members are
 * sorted by UTF-16 code units; strings are taken as they are, without normalisation. Every number is printed as a decimal that
 * denotes exactly its value, which is why distinct values never collide.
 */
public final class CanonicalJson {
    /** Versions the digest: a future form of canonical JSON gets another prefix, never the same hash by accident. */
    static final String REQUEST_V1 = "waybill-request-v1\0";

    private static final int PLAIN_DIGITS = 400;
    private static final long MAX_SAFE_INTEGER = 1L << 53;
    private static final BigDecimal TEN_21 = BigDecimal.TEN.pow(21);
    private static final BigDecimal MILLIONTH = new BigDecimal("0.000001");
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);
    private static final MessageDigest SHA_256 = digest();
    private static final MessageDigest REQUEST = prefixed(REQUEST_V1);

    private byte[] out = new byte[512];
    private int length;

    private CanonicalJson() {}

    /**
     * @throws WaybillException 400 INVALID_UNICODE for a lone surrogate, NUMBER_OUT_OF_RANGE for NaN and infinities
     */
    public static byte[] canonical(JsonNode node) {
        CanonicalJson writer = new CanonicalJson();
        writer.value(node);
        return Arrays.copyOf(writer.out, writer.length);
    }

    /** SHA-256 over {@code waybill-request-v1}, a zero byte and the canonical form; lower-case hex. */
    public static String sha256Hex(JsonNode node) {
        return hex(REQUEST, node);
    }

    /** As {@link #sha256Hex(JsonNode)} for another purpose: hashes of different purposes never compare equal. */
    static String sha256Hex(String prefix, JsonNode node) {
        return hex(prefixed(prefix), node);
    }

    private static String hex(MessageDigest prototype, JsonNode node) {
        CanonicalJson writer = new CanonicalJson();
        writer.value(node);
        MessageDigest sha = copy(prototype);
        sha.update(writer.out, 0, writer.length);
        return HexFormat.of().formatHex(sha.digest());
    }

    private void value(JsonNode node) {
        switch (node.getNodeType()) {
            case OBJECT -> object(node);
            case ARRAY -> array(node);
            case STRING -> string(node.stringValue());
            case NUMBER -> number(node);
            case BOOLEAN -> ascii(node.booleanValue() ? "true" : "false");
            case NULL, MISSING -> ascii("null");
            case BINARY, POJO -> throw new IllegalArgumentException("not a JSON value: " + node.getNodeType());
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private void object(JsonNode node) {
        Map.Entry<String, JsonNode>[] members = node.properties().toArray(new Map.Entry[0]);
        sort(members);
        put('{');
        for (int i = 0; i < members.length; i++) {
            if (i > 0) {
                put(',');
            }
            string(members[i].getKey());
            put(':');
            value(members[i].getValue());
        }
        put('}');
    }

    /** String order is UTF-16 order. Requests have a handful of members, often sorted already. */
    private static void sort(Map.Entry<String, JsonNode>[] members) {
        if (members.length > 32) {
            Arrays.sort(members, Map.Entry.comparingByKey());
            return;
        }
        for (int i = 1; i < members.length; i++) {
            Map.Entry<String, JsonNode> member = members[i];
            int at = i;
            while (at > 0 && members[at - 1].getKey().compareTo(member.getKey()) > 0) {
                members[at] = members[--at];
            }
            members[at] = member;
        }
    }

    private void array(JsonNode node) {
        put('[');
        int size = node.size();
        for (int i = 0; i < size; i++) {
            if (i > 0) {
                put(',');
            }
            value(node.get(i));
        }
        put(']');
    }

    private void number(JsonNode node) {
        switch (node.numberType()) {
            case INT -> ascii(Integer.toString(node.intValue()));
            case LONG -> {
                long value = node.longValue();
                if (value >= -MAX_SAFE_INTEGER && value <= MAX_SAFE_INTEGER) {
                    ascii(Long.toString(value));
                } else {
                    ascii(decimal(BigDecimal.valueOf(value)));
                }
            }
            case BIG_INTEGER -> ascii(decimal(new BigDecimal(node.bigIntegerValue())));
            case BIG_DECIMAL -> ascii(decimal(node.decimalValue()));
            case FLOAT, DOUBLE -> {
                double value = node.doubleValue();
                if (!Double.isFinite(value)) {
                    throw WaybillException.badRequest("NUMBER_OUT_OF_RANGE", "JSON has no " + value, null);
                }
                ascii(decimal(new BigDecimal(Double.toString(value))));
            }
        }
    }

    static String decimal(BigDecimal value) {
        if (value.signum() == 0) {
            return "0";
        }
        BigDecimal stripped = value.stripTrailingZeros();
        BigDecimal magnitude = stripped.abs();
        boolean plain = magnitude.compareTo(TEN_21) < 0 && magnitude.compareTo(MILLIONTH) >= 0;
        // 15 significant digits always survive a double, and within these bounds ES6 prints them plainly.
        if (plain && stripped.precision() <= 15) {
            return stripped.toPlainString();
        }
        BigDecimal shortest = shortest(stripped.doubleValue());
        if (shortest != null && shortest.compareTo(stripped) == 0) {
            return plain ? stripped.toPlainString() : scientific(stripped);
        }
        long plainDigits = stripped.scale() > 0
                ? Math.max(stripped.precision(), stripped.scale() + 1L)
                : stripped.precision() - (long) stripped.scale();
        return plainDigits <= PLAIN_DIGITS ? stripped.toPlainString() : scientific(stripped);
    }

    /** The shortest decimal that reads back as this double, as ECMAScript prints it; null for an infinity. */
    private static @Nullable BigDecimal shortest(double value) {
        if (!Double.isFinite(value)) {
            return null;
        }
        BigDecimal text = new BigDecimal(Double.toString(value));
        // The JDK keeps two digits where one would do (4.9E-324 for 5e-324); that can differ only among subnormals.
        if (Math.abs(value) < Double.MIN_NORMAL) {
            BigDecimal one = text.round(new MathContext(1));
            return one.doubleValue() == value ? one : text;
        }
        return text;
    }

    /** {@code d.ddde+N} as ECMAScript writes it; {@code value} has no trailing zeros. */
    private static String scientific(BigDecimal value) {
        BigInteger unscaled = value.unscaledValue();
        String digits = unscaled.abs().toString();
        long exponent = digits.length() - 1L - value.scale();
        StringBuilder text = new StringBuilder(digits.length() + 12);
        if (unscaled.signum() < 0) {
            text.append('-');
        }
        text.append(digits.charAt(0));
        if (digits.length() > 1) {
            text.append('.').append(digits, 1, digits.length());
        }
        return text.append('e').append(exponent < 0 ? "" : "+").append(exponent).toString();
    }

    private void string(String text) {
        int count = text.length();
        ensure(count * 6L + 2);
        byte[] to = out;
        int at = length;
        to[at++] = '"';
        for (int i = 0; i < count; i++) {
            char c = text.charAt(i);
            if (c >= 0x20 && c < 0x80) {
                if (c == '"' || c == '\\') {
                    to[at++] = '\\';
                }
                to[at++] = (byte) c;
            } else if (c < 0x20) {
                at = control(to, at, c);
            } else if (c < 0x800) {
                to[at++] = (byte) (0xc0 | c >> 6);
                to[at++] = (byte) (0x80 | c & 0x3f);
            } else if (!Character.isSurrogate(c)) {
                to[at++] = (byte) (0xe0 | c >> 12);
                to[at++] = (byte) (0x80 | c >> 6 & 0x3f);
                to[at++] = (byte) (0x80 | c & 0x3f);
            } else if (Character.isHighSurrogate(c) && i + 1 < count && Character.isLowSurrogate(text.charAt(i + 1))) {
                int point = Character.toCodePoint(c, text.charAt(++i));
                to[at++] = (byte) (0xf0 | point >> 18);
                to[at++] = (byte) (0x80 | point >> 12 & 0x3f);
                to[at++] = (byte) (0x80 | point >> 6 & 0x3f);
                to[at++] = (byte) (0x80 | point & 0x3f);
            } else {
                throw WaybillException.badRequest("INVALID_UNICODE", "a string holds half of a surrogate pair", null);
            }
        }
        to[at++] = '"';
        length = at;
    }

    private static int control(byte[] to, int from, char c) {
        int at = from;
        to[at++] = '\\';
        switch (c) {
            case '\b' -> to[at++] = 'b';
            case '\t' -> to[at++] = 't';
            case '\n' -> to[at++] = 'n';
            case '\f' -> to[at++] = 'f';
            case '\r' -> to[at++] = 'r';
            default -> {
                to[at++] = 'u';
                to[at++] = '0';
                to[at++] = '0';
                to[at++] = HEX[c >> 4];
                to[at++] = HEX[c & 15];
            }
        }
        return at;
    }

    private void ascii(String text) {
        ensure(text.length());
        for (int i = 0; i < text.length(); i++) {
            out[length++] = (byte) text.charAt(i);
        }
    }

    private void put(char c) {
        ensure(1);
        out[length++] = (byte) c;
    }

    private void ensure(long more) {
        long needed = length + more;
        if (needed > out.length) {
            if (needed > Integer.MAX_VALUE - 16) {
                throw new OutOfMemoryError("canonical form too large");
            }
            out = Arrays.copyOf(out, (int) Math.min(Integer.MAX_VALUE - 16, Math.max(needed, out.length * 2L)));
        }
    }

    private static MessageDigest prefixed(String prefix) {
        MessageDigest sha = copy(SHA_256);
        sha.update(prefix.getBytes(StandardCharsets.UTF_8));
        return sha;
    }

    /** A copy of a prototype that nobody ever updates is cheaper than looking the algorithm up each time. */
    private static MessageDigest copy(MessageDigest prototype) {
        try {
            return (MessageDigest) prototype.clone();
        } catch (CloneNotSupportedException e) {
            throw new IllegalStateException("the platform's SHA-256 can be copied", e);
        }
    }

    private static MessageDigest digest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}

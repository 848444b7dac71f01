package dev.waybill.test;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The decisions of one generated test case, each a number below a bound, 0 being the simplest. They come from a seed or from a recorded list;
 * whoever can shorten the list and lower its numbers has shrunk the test case, whatever was built from it.
 */
public final class Choices {
    private static final List<Integer> TELLING_BYTES = List.of(0, 1, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x30, 0x5c, 0x7f, 0x80, 0xbf, 0xc0, 0xed, 0xff);
    private static final List<String> TELLING_NUMBERS =
            List.of("0", "-1", "1", "255", "256", "65536", "2147483647", "2147483648", "4294967296", "9007199254740993", "9223372036854775808", "1e400");

    private final SplittableRandom random;
    private final int[] recorded;
    private final boolean replaying;
    private int[] made = new int[32];
    private int count;

    private Choices(SplittableRandom random, int[] recorded, boolean replaying) {
        this.random = random;
        this.recorded = recorded;
        this.replaying = replaying;
    }

    static Choices of(long seed) {
        return new Choices(new SplittableRandom(seed), new int[0], false);
    }

    /** Repeats {@code recorded}; behind its end everything is 0. */
    static Choices of(int[] recorded) {
        return new Choices(new SplittableRandom(0), recorded, true);
    }

    int[] made() {
        return Arrays.copyOf(made, count);
    }

    /** 0 (inclusive) to {@code bound} (exclusive). */
    public int below(int bound) {
        int choice = replaying ? (count < recorded.length ? Math.min(recorded[count], bound - 1) : 0) : random.nextInt(bound);
        if (count == made.length) {
            made = Arrays.copyOf(made, count * 2);
        }
        made[count++] = choice;
        return choice;
    }

    public int between(int least, int most) {
        return least + below(most - least + 1);
    }

    /** True once in {@code n} times. */
    public boolean oneIn(int n) {
        return below(n) == n - 1;
    }

    public <T> T pick(List<T> list) {
        return list.get(below(list.size()));
    }

    /** Any 64 bits. */
    public long bits() {
        return (long) below(1 << 16) << 48 | (long) below(1 << 16) << 32 | (long) below(1 << 16) << 16 | below(1 << 16);
    }

    /** A length that is mostly short and now and then near {@code most}. */
    public int length(int most) {
        return switch (below(8)) {
            case 0, 1, 2, 3 -> below(Math.min(most, 4) + 1);
            case 4, 5, 6 -> below(Math.min(most, 24) + 1);
            default -> below(most + 1);
        };
    }

    /** Any UTF-16 text: plain letters mostly, then control characters, quotes, other planes, and half surrogates when {@code broken}. */
    public String text(int most, boolean broken) {
        StringBuilder text = new StringBuilder();
        for (int left = length(most); left > 0; left--) {
            switch (below(broken ? 10 : 9)) {
                case 0, 1, 2 -> text.append((char) ('a' + below(26)));
                case 3 -> text.append((char) (0x20 + below(0x5f)));
                case 4 -> text.append((char) below(0x20));
                case 5 -> text.append((char) (0x7f + below(0x81)));
                case 6 -> text.append((char) (0x100 + below(0xd700)));
                case 7 -> text.append((char) (0xe000 + below(0x2000)));
                case 8 -> text.appendCodePoint(0x10000 + below(0x100000));
                default -> text.append((char) (0xd800 + below(0x800)));
            }
        }
        return text.toString();
    }

    /** {@code seed} with a few changes: bytes flipped, inserted, deleted, repeated, moved, cut, numbers exchanged, other texts mixed in. */
    public byte[] mutate(byte[] seed, List<String> dictionary) {
        byte[] bytes = seed;
        for (int changes = 1 + below(5); changes > 0; changes--) {
            bytes = change(bytes, dictionary);
        }
        return bytes;
    }

    private byte[] change(byte[] bytes, List<String> dictionary) {
        int at = below(bytes.length + 1);
        int size = Math.min(bytes.length - at, length(64));
        return switch (below(10)) {
            case 0 -> bytes;
            case 1 -> replaced(bytes, at, Math.min(1, bytes.length - at), new byte[] {(byte) (int) pick(TELLING_BYTES)});
            case 2 -> replaced(bytes, at, Math.min(1, bytes.length - at), new byte[] {(byte) below(256)});
            case 3 -> replaced(bytes, at, size, new byte[0]);
            case 4 -> Arrays.copyOf(bytes, at);
            case 5 -> replaced(bytes, at, 0, repeated(Arrays.copyOfRange(bytes, at, at + size), 1 + length(200)));
            case 6 -> replaced(bytes, below(bytes.length + 1), 0, Arrays.copyOfRange(bytes, at, at + size));
            case 7 -> number(bytes, at);
            default -> replaced(bytes, at, 0, dictionary.isEmpty() ? new byte[0] : pick(dictionary).getBytes(StandardCharsets.UTF_8));
        };
    }

    private byte[] number(byte[] bytes, int from) {
        int start = from;
        while (start < bytes.length && (bytes[start] < '0' || bytes[start] > '9')) {
            start++;
        }
        int end = start;
        while (end < bytes.length && bytes[end] >= '0' && bytes[end] <= '9') {
            end++;
        }
        return replaced(bytes, start, end - start, pick(TELLING_NUMBERS).getBytes(StandardCharsets.US_ASCII));
    }

    private static byte[] repeated(byte[] part, int times) {
        byte[] all = new byte[part.length * times];
        for (int i = 0; i < times; i++) {
            System.arraycopy(part, 0, all, i * part.length, part.length);
        }
        return all;
    }

    private static byte[] replaced(byte[] bytes, int at, int size, byte[] by) {
        byte[] result = new byte[bytes.length - size + by.length];
        System.arraycopy(bytes, 0, result, 0, at);
        System.arraycopy(by, 0, result, at, by.length);
        System.arraycopy(bytes, at + size, result, at + by.length, bytes.length - at - size);
        return result;
    }
}

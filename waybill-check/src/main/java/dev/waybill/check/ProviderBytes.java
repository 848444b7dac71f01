package dev.waybill.check;

import dev.waybill.check.Rows.Line;
import dev.waybill.check.Rows.Move;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** S10. The raw reply on the receipt and the output made of it are what the provider wrote down that it said. */
final class ProviderBytes implements Property {
    private static final Set<String> FIRST_HAND = Set.of("engine", "engine-late", "recorder");
    /** Answers of which the ledger does not have the bytes. */
    private static final List<String> NOT_IN_THE_LEDGER = List.of("Big", "Garbage", "PartialStatusLine");

    @Override
    public String name() {
        return "provider-bytes";
    }

    @Override
    public String promise() {
        return "the saved reply and output are the provider's bytes";
    }

    @Override
    public void check(History history, Findings findings) {
        for (Attempt attempt : history.attempts()) {
            List<Line> lines = history.lines(attempt.receipt().id());
            for (Move move : attempt.moves()) {
                boolean answered = move.replyStatus() != null && move.replyStatus() > 0;
                if (!answered || !FIRST_HAND.contains(move.actor()) || lines.isEmpty() || lines.stream().anyMatch(ProviderBytes::unknowable)) {
                    continue;
                }
                String fault = fault(move, lines);
                findings.expect(fault == null, Subject.of(attempt), attempt + " n=" + move.n() + ": " + fault);
            }
        }
    }

    private static boolean unknowable(Line line) {
        String fault = line.fault() == null ? "" : line.fault();
        return line.answered() && NOT_IN_THE_LEDGER.stream().anyMatch(fault::contains);
    }

    private static @Nullable String fault(Move move, List<Line> lines) {
        String fault = "the provider never answered";
        for (Line line : lines) {
            if (line.answered() && line.answer() != null) {
                fault = against(move, line.answer());
                if (fault == null) {
                    return null;
                }
            }
        }
        return fault;
    }

    private static @Nullable String against(Move move, JsonNode answer) {
        if (move.replyStatus() == null || move.replyStatus() != answer.path("status").asInt(0)) {
            return "status " + move.replyStatus() + " was saved, the provider said " + answer.path("status");
        }
        byte[] said = answer.path("body").asString("").getBytes(StandardCharsets.UTF_8);
        byte[] saved = move.reply();
        if (move.replyTruncated() ? !startsWith(said, saved) : !sha256(said).equals(sha256(saved))) {
            return "the saved reply (sha256 " + sha256(saved) + ") is not what the provider said (" + sha256(said) + ")";
        }
        JsonNode output = Json.parse(move.output());
        if (!move.outputState().equals("saved") || !output.has("body")) {
            return null;
        }
        String text = new String(said, StandardCharsets.UTF_8);
        JsonNode body = text.isBlank() ? Json.parse(null) : Json.parse(text);
        boolean same = body.isMissingNode() ? output.path("body").asString("").equals(text) : Json.same(body, output.path("body"));
        return same && output.path("status").asInt(0) == move.replyStatus() ? null : "the output is not made of the provider's answer";
    }

    private static boolean startsWith(byte[] whole, byte[] part) {
        return part.length <= whole.length && Arrays.equals(whole, 0, part.length, part, 0, part.length);
    }

    static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every Java platform has SHA-256", e);
        }
    }
}

package dev.waybill.store;

import dev.waybill.model.Reply;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which text a database keeps exactly as given, and what remains of a move that carries text it cannot keep. Text comes from
 * providers, so a settle must survive it: the outcome and the bytes stay, the output becomes {@code OUTPUT_UNSTORABLE}
 * (semantics.md section 4).
 */
public enum TextRule {
    /** Anything that UTF-8 can carry: an unpaired surrogate would silently become a question mark. */
    UTF8,
    /** PostgreSQL's {@code text} refuses U+0000 as well. */
    UTF8_WITHOUT_NUL;

    /** The {@link dev.waybill.model.Problem} of an output that could not be kept. */
    public static final String PROBLEM =
            "{\"code\":\"OUTPUT_UNSTORABLE\",\"message\":\"The database cannot keep the text of this output; the reply's bytes are kept.\","
                    + "\"retryable\":false}";

    public boolean keeps(@Nullable String text) {
        if (text == null) {
            return true;
        }
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == 0 && this == UTF8_WITHOUT_NUL) {
                return false;
            }
            if (Character.isSurrogate(c)) {
                if (!Character.isHighSurrogate(c) || i + 1 == text.length() || !Character.isLowSurrogate(text.charAt(i + 1))) {
                    return false;
                }
                i++;
            }
        }
        return true;
    }

    /** The row itself, or what of it can be kept. */
    public JournalRow kept(JournalRow row) {
        boolean keeps = keeps(row.output()) && keeps(row.providerReceiptId()) && keeps(row.message()) && keeps(row.reason())
                && keeps(row.problem()) && keeps(row.reply());
        return keeps ? row : row.unstorable(PROBLEM);
    }

    /**
     * What of a commit can be kept: the commit itself when everything can. Otherwise its settles (those with bad text by
     * {@link JournalRow#unstorable}), its events, and the rows with bad text as errors. Whatever may have been decided from a text
     * that is now no output (the other rows, the intents, the release) is left out: the owner reads the instance again.
     */
    public Commit kept(Commit commit) {
        List<JournalRow> settles = commit.settles();
        boolean all = settles.stream().allMatch(row -> kept(row) == row)
                && commit.rows().stream().allMatch(row -> keeps(row.body()))
                && commit.intents().stream().allMatch(this::keeps)
                && commit.events().stream().allMatch(this::keeps)
                && (commit.release() == null || keeps(commit.release()));
        return all ? commit : new Commit(
                commit.instance(),
                commit.claim(),
                commit.transitionId(),
                settles.stream().map(this::kept).toList(),
                commit.rows().stream()
                        .filter(row -> !keeps(row.body()))
                        .map(row -> new BlockRow(row.path(), row.n(), BlockRow.Kind.ERROR, PROBLEM, null, row.transitionId(), row.at()))
                        .toList(),
                List.of(),
                commit.events().stream().filter(this::keeps).toList(),
                null,
                commit.resetTakeover(),
                commit.invariants().ofSettles(),
                null,
                commit.compensates());
    }

    private boolean keeps(@Nullable Reply reply) {
        if (reply == null) {
            return true;
        }
        for (Map.Entry<String, List<String>> header : reply.headers().entrySet()) {
            if (!keeps(header.getKey()) || !header.getValue().stream().allMatch(this::keeps)) {
                return false;
            }
        }
        return true;
    }

    private boolean keeps(ReceiptRow row) {
        return keeps(row.path()) && keeps(row.handler()) && keeps(row.destination()) && keeps(row.idempotencyKey())
                && keeps(row.request()) && keeps(row.labels());
    }

    private boolean keeps(Event event) {
        return keeps(event.payload()) && keeps(event.subject());
    }

    private boolean keeps(Release release) {
        return keeps(release.reasons()) && keeps(release.outcome()) && release.events().stream().allMatch(this::keeps);
    }
}

package dev.waybill.operate;

import dev.waybill.operate.Resolution.Then;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A provider's statement, and how it stands to the ledger (issue 4, operators' road). */
public final class Statement {
    private Statement() {}

    public enum Format {
        CSV,
        JSONL
    }

    /**
     * @param name        of the file, for the evidence
     * @param destination whose statement it is: a destination, what follows its handler, or the beginning of several and {@code *}
     * @param columns     by role ({@code key id amount currency status}): the column's or member's name; a role that is not given has its
     *                    own name. Each line needs a key or an id
     * @param statuses    lines with another status say nothing of an effect; empty = every line counts
     * @param amountLabel the receipt's label that the amount is held against
     * @param amountShift places that the statement's decimal point moves to the right, for providers that count in minor units: -2
     * @param from        the statement has every effect from here, or null
     * @param to          the statement has every effect before this, or null
     * @param matchLabel  the {@code key} role is this label's value and not the idempotency key; null = it is the key. Receipts are then
     *                    looked for in the queue, and in the covered time
     * @param missingThen what becomes of a run whose effect is shown to be missing
     * @param apply       false: nothing is written
     */
    public record Request(
            String name,
            String destination,
            Format format,
            String content,
            Map<String, String> columns,
            Set<String> statuses,
            String amountLabel,
            int amountShift,
            @Nullable Instant from,
            @Nullable Instant to,
            Then missingThen,
            boolean apply,
            @Nullable String matchLabel) {}

    /** @param raw the line as it stands in the file */
    record Line(
            int number,
            String raw,
            @Nullable String key,
            @Nullable String id,
            @Nullable BigDecimal amount,
            @Nullable String currency,
            @Nullable String status) {}

    public enum Kind {
        /** The provider did it, and nobody here knew. */
        MATCHED,
        /** Both say so. */
        SETTLED,
        /** The same effect with another amount or currency, or one that cannot be compared. */
        AMOUNT_DIFFERS,
        /** Two lines for one effect, or one line for two. */
        AMBIGUOUS,
        /** The provider has what the ledger says did not happen, or knows it by another id. */
        CONTRADICTION,
        /** A line that no receipt of this destination belongs to. */
        ORPHAN,
        /** A receipt that no line belongs to. */
        MISSING,
        /** It is being sent at this moment. */
        IN_FLIGHT,
        /** A line with a status that does not count. */
        SKIPPED;

        public String wire() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    /**
     * @param line   its number in the file, the header being 1; null for what is missing there
     * @param state  of the receipt, or null for an orphan
     * @param action would_commit, committed, would_record, recorded, would_abandon, abandoned, proposed, refused, or none
     * @param why    one sentence, or null
     */
    public record Row(
            Kind kind,
            @Nullable Integer line,
            @Nullable String key,
            @Nullable String providerId,
            @Nullable String amount,
            @Nullable String ledgerAmount,
            @Nullable UUID effect,
            @Nullable String state,
            String action,
            @Nullable String why) {
        /** True when a person still has something to do about it. */
        public boolean open() {
            return switch (kind) {
                case SETTLED, SKIPPED -> false;
                case MATCHED -> !action.equals("committed");
                case MISSING -> !action.equals("abandoned");
                default -> true;
            };
        }
    }

    /** @param sha256 of the file */
    public record Report(String sha256, int lines, boolean applied, List<Row> rows) {}
}

package dev.waybill.operate;

import dev.waybill.model.EffectState;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What a person decides about an unknown effect, with the proof (semantics.md section 5).
 *
 * @param state             committed, verified, compensated or abandoned
 * @param note              what was looked at; required
 * @param link              where it can be seen, or null
 * @param providerReceiptId required for committed, unless a file proves it
 * @param output            becomes the block's output; null: the stored one, else {@code {provider_receipt_id, resolved: true}}
 * @param then              null: continue for committed/verified, none for abandoned/compensated
 * @param actor             who decides
 * @param idempotencyKey    the same key with the same decision again answers what the first one did; null = none
 * @param file              a record that shows it, or null; proves committed where the provider gave no id
 */
public record Resolution(
        EffectState state,
        String note,
        @Nullable String link,
        @Nullable String providerReceiptId,
        @Nullable JsonNode output,
        @Nullable Then then,
        String actor,
        @Nullable String idempotencyKey,
        @Nullable Attachment file) {

    public Resolution(
            EffectState state,
            String note,
            @Nullable String link,
            @Nullable String providerReceiptId,
            @Nullable JsonNode output,
            @Nullable Then then,
            String actor,
            @Nullable String idempotencyKey) {
        this(state, note, link, providerReceiptId, output, then, actor, idempotencyKey, null);
    }

    public Resolution(
            EffectState state,
            String note,
            @Nullable String link,
            @Nullable String providerReceiptId,
            @Nullable JsonNode output,
            @Nullable Then then,
            String actor) {
        this(state, note, link, providerReceiptId, output, then, actor, null);
    }

    public enum Then {
        /** The run goes on with the output. */
        CONTINUE,
        /** One new receipt is authorised; only after quiet_at. */
        RESEND,
        /** The step fails. */
        FAIL,
        /** Only the ledger moves; the run waits, reason effect_abandoned. */
        NONE
    }
}

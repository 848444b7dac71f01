package dev.waybill.test;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * One line of the provider's ledger.
 *
 * @param seq            position in the file, from 1
 * @param delivery       which request: {@link Delivery#number()}
 * @param path           with its query
 * @param effectId       the Waybill-Effect-Id header
 * @param idempotencyKey the Idempotency-Key header
 * @param bodySha256     of the request's bytes
 * @param body           the request's text; on deliveries only
 * @param content        {@link Delivery#content()}, or null when the body never came completely
 * @param answer         on an application what was booked, on an answer {@code {status, body}}
 * @param fault          what was out of the ordinary, or null
 * @param seenState      on a delivery, what {@link FakeProvider.Builder#witness} saw of the sender before anything else was done
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record LedgerEntry(
        long seq,
        Instant at,
        Kind kind,
        long delivery,
        String method,
        String path,
        @Nullable String effectId,
        @Nullable String idempotencyKey,
        @Nullable String bodySha256,
        @Nullable String body,
        @Nullable String content,
        @Nullable JsonNode answer,
        @Nullable String fault,
        long connection,
        @JsonProperty("seen_state") @Nullable String seenState) {

    public enum Kind {
        /** A request's head was read (and its body, unless {@code fault} says so). */
        @JsonProperty("delivery")
        DELIVERY,
        /** It was really done. */
        @JsonProperty("apply")
        APPLY,
        /** What the provider is about to say; written before the first byte of it leaves. */
        @JsonProperty("answer")
        ANSWER
    }
}

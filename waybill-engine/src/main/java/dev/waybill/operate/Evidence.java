package dev.waybill.operate;

import dev.waybill.json.Json;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.ReceiptRow;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * What a person adds to a case beside a decision; at least one of the three.
 *
 * @param note 1 to 10,000 characters
 * @param link absolute http or https address without credentials
 */
public record Evidence(@Nullable String note, @Nullable String link, @Nullable Attachment file) {

    EvidenceRow row(ReceiptRow receipt, String actor, @Nullable String idempotencyKey) {
        ObjectNode body = file == null ? Json.NODES.objectNode() : file.description();
        if (note != null) {
            body.put("note", note);
        }
        if (link != null) {
            body.put("link", link);
        }
        if (idempotencyKey != null) {
            body.put("idempotency_key", idempotencyKey);
        }
        String kind = file != null ? Attachment.KIND : link != null ? "link" : "note";
        return new EvidenceRow(
                receipt.path(), receipt.attempt(), kind, actor, Json.write(body), file == null ? null : file.bytes(), null);
    }
}

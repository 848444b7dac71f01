package dev.waybill.operate;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** The queue of effects that nobody knows the outcome of, and the road back. */
public interface Effects {

    List<EffectView> list(EffectFilter filter);

    /**
     * @param idOrPrefix a whole receipt id, or at least 4 leading hex digits of one that is open
     * @throws dev.waybill.model.WaybillException 404 EFFECT_NOT_FOUND, 409 EFFECT_AMBIGUOUS_PREFIX
     */
    EffectCase get(String tenant, String idOrPrefix);

    /**
     * Receipt, evidence, output and the run's wake-up in one transaction (semantics.md section 5, Resolve).
     *
     * <p>Where the policy asks for two people nothing moves: the answer has the pending proposal.
     *
     * @throws dev.waybill.model.WaybillException 404 EFFECT_NOT_FOUND, 409 EFFECT_NOT_UNKNOWN, 409 EFFECT_NOT_QUIET, 409
     *     PROPOSAL_PENDING, 422 EVIDENCE_REQUIRED, 422 RESOLUTION_INVALID
     */
    EffectCase resolve(String tenant, UUID receiptId, Resolution resolution);

    /**
     * Carries out what another principal proposed; approval, receipt and the run's wake-up are one transaction.
     *
     * @throws dev.waybill.model.WaybillException 403 FOUR_EYES_SAME_PRINCIPAL, 404 PROPOSAL_NOT_FOUND, 409 PROPOSAL_CLOSED, and what
     *     {@link #resolve} refuses
     */
    EffectCase approve(String tenant, UUID receiptId, UUID proposal, String actor);

    /**
     * Ends a proposal without deciding anything; who made it may take it back so.
     *
     * @throws dev.waybill.model.WaybillException 404 PROPOSAL_NOT_FOUND, 409 PROPOSAL_CLOSED
     */
    EffectCase reject(String tenant, UUID receiptId, UUID proposal, String note, String actor);

    /** Effects with a proposal that waits, newest proposal first; of the newest 500 that nobody decided. */
    List<EffectView> proposed(String tenant);

    /**
     * Something that belongs into a case file and decides nothing.
     *
     * @param kind        note, link, file or statement
     * @param body        a JSON object
     * @param bytes       a file's content, or null
     * @param contradicts true: it speaks against what the receipt says; the event {@code effect.contradiction} calls somebody
     */
    record Attachment(String kind, JsonNode body, byte @Nullable [] bytes, boolean contradicts) {}

    /**
     * Adds evidence, in any state of the receipt and the run. What is there already, with the same words, is not added again.
     *
     * @throws dev.waybill.model.WaybillException 404 EFFECT_NOT_FOUND, 409 RUN_GONE, 409 EVIDENCE_FULL
     */
    EffectCase attach(String tenant, UUID receiptId, List<Attachment> attachments, String actor);

    /** As a person attaches it: at least one of the three. @throws dev.waybill.model.WaybillException 422 EVIDENCE_REQUIRED, EVIDENCE_INVALID */
    static List<Attachment> attachments(@Nullable String note, @Nullable String link, @Nullable EvidenceFile file) {
        if (note == null && link == null && file == null) {
            throw new WaybillException(422, "EVIDENCE_REQUIRED", "attach a note, a link or a file", "/note", "waybill effects attach --help");
        }
        List<Attachment> attachments = new ArrayList<>();
        if (file != null) {
            attachments.add(new Attachment("file", file.json(), file.content(), false));
        }
        if (link != null) {
            attachments.add(new Attachment("link", Json.NODES.objectNode().put("link", EvidenceRules.checkedLink(link, "/link")), null, false));
        }
        if (note != null) {
            attachments.add(new Attachment("note", Json.NODES.objectNode().put("note", EvidenceRules.checkedNote(note, "say what it is")), null, false));
        }
        return attachments;
    }

    /**
     * Asks the step's verifier now and records what it says; the answer is the case file afterwards. Works in every state of the run: on
     * an ended one only the ledger moves.
     *
     * @throws dev.waybill.model.WaybillException 404 EFFECT_NOT_FOUND, 409 EFFECT_NOT_UNKNOWN, 409 EFFECT_IN_FLIGHT, 409 VERIFIER_MISSING
     */
    EffectCase verify(String tenant, UUID receiptId, String actor);

    /**
     * Ends an {@code output_lost} wait with the output a person found, once.
     *
     * @throws dev.waybill.model.WaybillException 409 OUTPUT_NOT_LOST, 422 EVIDENCE_REQUIRED
     */
    EffectCase supplyOutput(String tenant, UUID receiptId, JsonNode output, String note, @Nullable String link, String actor);
}

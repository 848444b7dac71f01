package dev.waybill.operate;

import dev.waybill.store.DeskStore.FoundEvidence;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
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
     * @throws dev.waybill.model.WaybillException 404 EFFECT_NOT_FOUND, 409 EFFECT_NOT_UNKNOWN, 409 EFFECT_NOT_QUIET, 422
     *     EVIDENCE_REQUIRED, 422 RESOLUTION_INVALID
     */
    EffectCase resolve(String tenant, UUID receiptId, Resolution resolution);

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

    /**
     * Adds a note, a link or a file to the case of an effect, in any state. Evidence is never changed or removed.
     *
     * @param idempotencyKey the same key again adds nothing; null = none
     * @throws dev.waybill.model.WaybillException 404 EFFECT_NOT_FOUND, 409 EVIDENCE_FULL, 422 EVIDENCE_REQUIRED, 422 EVIDENCE_INVALID
     */
    EffectCase attach(String tenant, UUID receiptId, Evidence evidence, String actor, @Nullable String idempotencyKey);

    /**
     * Carries out a resolution that another principal proposed: approval, receipt, output and the run's wake-up are one transaction.
     *
     * @throws dev.waybill.model.WaybillException 403 FOUR_EYES_SAME_PRINCIPAL, 404 PROPOSAL_NOT_FOUND, 409 PROPOSAL_EXPIRED, 409
     *     PROPOSAL_VOID, 409 PROPOSAL_ENDED, and what {@link #resolve} throws
     */
    EffectCase approve(String tenant, UUID receiptId, UUID proposalId, @Nullable String note, String actor);

    /**
     * Ends a proposal without carrying it out; who proposed it may take it back.
     *
     * @throws dev.waybill.model.WaybillException 404 PROPOSAL_NOT_FOUND, 409 PROPOSAL_EXPIRED, 409 PROPOSAL_VOID, 409 PROPOSAL_ENDED
     */
    EffectCase reject(String tenant, UUID receiptId, UUID proposalId, String note, String actor);

    /** Rows of proposals, newest first, whatever became of them. */
    List<FoundEvidence> recentProposals(String tenant, int limit);

    /**
     * Holds a provider's statement against the receipts of its destination and, when asked, decides the unknown ones that it proves.
     *
     * @throws dev.waybill.model.WaybillException 400 STATEMENT_INVALID; what becomes of one effect is in its row
     */
    Statement.Report importStatement(String tenant, Statement.Request request, String actor);
}

package dev.waybill.operate;

import dev.waybill.store.SequenceRow;
import dev.waybill.definition.Validation.StepGuarantee;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Publishes and reads sequence versions. A version is immutable once published. */
public interface Sequences {

    /**
     * One fault or warning of a document.
     *
     * @param pointer JSON pointer to it
     */
    record Finding(String code, String pointer, String message) {}

    /** Every fault and warning at once; publishing refuses while there are faults. */
    record Report(List<Finding> faults, List<Finding> warnings, List<StepGuarantee> guarantees) {}

    Report validate(String tenant, JsonNode document);

    /**
     * Publishes a version: the document's {@code version}, or the next free one when it has none.
     *
     * @throws dev.waybill.model.WaybillException 422 INVALID_SEQUENCE, 409 SEQUENCE_EXISTS
     */
    SequenceRow publish(String tenant, JsonNode document);

    /** @throws dev.waybill.model.WaybillException 404 SEQUENCE_NOT_FOUND */
    SequenceRow get(String tenant, UUID id);

    /** @throws dev.waybill.model.WaybillException 404 SEQUENCE_NOT_FOUND */
    SequenceRow byName(String tenant, String namespace, String name, @Nullable Integer version);

    List<SequenceRow> versions(String tenant, String namespace, String name);

    List<SequenceRow> list(String tenant, @Nullable UUID after, int limit);

    /** @throws dev.waybill.model.WaybillException 404 SEQUENCE_NOT_FOUND */
    void deprecate(String tenant, UUID id);

    /**
     * Declares an invariant for a published version; it cannot be taken back. It holds for every effect that is decided five seconds
     * later or after, on every node; effects from before hold nothing.
     *
     * @param invariant {@code {name, rule, commit_guard}}, as in a document
     * @throws dev.waybill.model.WaybillException 404 SEQUENCE_NOT_FOUND, 422 INVALID_INVARIANT, 409 INVARIANT_EXISTS
     */
    void addInvariant(String tenant, UUID sequence, JsonNode invariant);

    /**
     * Those of the document, then those declared afterwards, each as in a document.
     *
     * @throws dev.waybill.model.WaybillException 404 SEQUENCE_NOT_FOUND
     */
    List<JsonNode> invariants(String tenant, UUID sequence);
}

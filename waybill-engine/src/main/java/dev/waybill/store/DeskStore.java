package dev.waybill.store;

import dev.waybill.model.InstanceKey;
import java.util.List;
import java.util.UUID;

/** What the operators' desk needs of a store beside the engine's verbs; each verb is one transaction. */
public interface DeskStore {

    /** @param receipt whose evidence it is */
    record FoundEvidence(InstanceKey instance, UUID receipt, EvidenceRow row) {}

    /** Rows of one kind in a tenant, newest first, without their bytes. Only for the kinds proposal and escalation: they have an index. */
    List<FoundEvidence> evidenceOfKind(String tenant, String kind, int limit);

    /** Keeps a value under a name unless there is one already; answers what is kept. Two at once: both answer the same. */
    String keepOnce(String name, String value);
}

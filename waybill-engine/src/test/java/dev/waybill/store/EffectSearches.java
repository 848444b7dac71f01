package dev.waybill.store;

import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.test.ManyReceipts;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** Every search that the API offers for effects, by name: the queue's first and next page, then each field. */
public final class EffectSearches {
    private static final Instant DAY = Instant.parse("2026-11-30T00:00:00Z");

    private EffectSearches() {}

    public static Map<String, EffectFilter> all() {
        UUID id = new UUID(7, 7);
        InstanceKey instance = new InstanceKey(ManyReceipts.TENANT, id);
        Map<String, EffectFilter> all = new LinkedHashMap<>();
        for (boolean queue : new boolean[] {true, false}) {
            String where = queue ? "queue " : "all ";
            all.put(where + "q=id", filter(queue, null, null, id.toString(), null, null, null, null, null, null));
            all.put(where + "q=word", filter(queue, null, null, "key-77", null, null, null, null, null, null));
            all.put(where + "idempotency_key", filter(queue, null, null, null, null, "key-77", null, null, null, null));
            all.put(where + "provider_receipt_id", filter(queue, null, null, null, null, null, "pi_77", null, null, null));
            all.put(where + "instance_id", filter(queue, instance, null, null, null, null, null, null, null, null));
            all.put(where + "execution", filter(queue, null, id, null, null, null, null, null, null, null));
        }
        all.put("queue first page", filter(true, null, null, null, null, null, null, null, null, null));
        all.put("queue next page", filter(true, null, null, null, null, null, null, null, null, DAY + "|" + id));
        all.put("queue block", filter(true, null, null, null, "step-1", null, null, null, null, null));
        all.put("queue label", filter(true, null, null, null, null, null, null, null, "o-77", null));
        all.put("queue epoch", filter(true, null, null, null, null, null, null, 77L, null, null));
        String digest = "ab".repeat(32);
        all.put("queue request_sha256", wide(digest, null, null, null));
        all.put("queue fingerprint", wide(null, digest, null, null));
        all.put("queue attempt", wide(null, null, 3, null));
        all.put("queue from", wide(null, null, null, DAY));
        return all;
    }

    private static EffectFilter filter(
            boolean queue, InstanceKey instance, UUID execution, String word, String block, String key, String provider, Long epoch,
            String label, String after) {
        return new EffectFilter(
                ManyReceipts.TENANT, queue, Set.<EffectState>of(), instance, execution, word, null, block, null, null, key, provider, epoch, null,
                label, null, null, after, 50);
    }

    private static EffectFilter wide(String hash, String fingerprint, Integer attempt, Instant from) {
        return new EffectFilter(
                ManyReceipts.TENANT, true, Set.of(), null, null, null, null, null, hash, fingerprint, null, null, null, attempt, null, from, null,
                null, 50);
    }
}

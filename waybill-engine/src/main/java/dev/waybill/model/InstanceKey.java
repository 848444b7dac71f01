package dev.waybill.model;

import java.util.UUID;

/** Names one instance. The tenant leads every key, so that rows can move between cells. */
public record InstanceKey(String tenant, UUID id) implements Comparable<InstanceKey> {
    @Override
    public int compareTo(InstanceKey other) {
        int byTenant = tenant.compareTo(other.tenant);
        return byTenant != 0 ? byTenant : id.compareTo(other.id);
    }

    @Override
    public String toString() {
        return tenant + "/" + id;
    }
}

package dev.waybill.store;

import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Published sequence versions. */
public interface SequenceStore {
    /**
     * Inserts a version.
     *
     * @return false when (tenant, namespace, name, version) or the id exists already: a version is immutable
     */
    boolean insert(SequenceRow row);

    Optional<SequenceRow> get(String tenant, UUID id);

    /** The given version, or the newest that is not deprecated when {@code version} is null. */
    Optional<SequenceRow> byName(String tenant, String namespace, String name, @Nullable Integer version);

    /** All versions, newest first. */
    List<SequenceRow> versions(String tenant, String namespace, String name);

    /** Ordered by (namespace and name as UTF-8 bytes, version descending); {@code after} is the id of the last one seen, or null. */
    List<SequenceRow> list(String tenant, @Nullable UUID after, int limit);

    /**
     * @return false when there is no such version
     */
    boolean deprecate(String tenant, UUID id);

    /**
     * Adds an invariant to a version; those of its document are not here.
     *
     * @return false when there is no such version, or when it has an invariant of that name
     */
    boolean addInvariant(InvariantDeclaration invariant);

    /** Of one version, by name. */
    List<InvariantDeclaration> invariants(String tenant, UUID sequence);
}

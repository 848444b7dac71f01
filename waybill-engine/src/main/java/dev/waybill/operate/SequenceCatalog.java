package dev.waybill.operate;

import dev.waybill.definition.Destinations;
import dev.waybill.definition.Fault;
import dev.waybill.definition.InvariantReader;
import dev.waybill.definition.Sequence;
import dev.waybill.definition.SequenceParser;
import dev.waybill.definition.Validation;
import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.store.InvariantDeclaration;
import dev.waybill.store.SequenceRow;
import dev.waybill.store.SequenceStore;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Publishes and reads sequence versions through the store. */
public final class SequenceCatalog implements Sequences {
    private static final int MAX_PUBLISH_RACES = 20;

    private final SequenceStore store;
    private final Supplier<UUID> ids;
    private final Predicate<String> handlerKnown;
    private final Destinations destinations;

    /**
     * @param handlerKnown whether a handler of this name is registered on this node; others are refused at publish
     */
    public SequenceCatalog(SequenceStore store, Supplier<UUID> ids, Predicate<String> handlerKnown) {
        this(store, ids, handlerKnown, Destinations.NONE);
    }

    /** @param destinations what this node knows of destinations */
    public SequenceCatalog(SequenceStore store, Supplier<UUID> ids, Predicate<String> handlerKnown, Destinations destinations) {
        this.store = store;
        this.ids = ids;
        this.handlerKnown = handlerKnown;
        this.destinations = destinations;
    }

    /** A published row, ready to run; handlers are looked up when a step runs, so any node can load any version. */
    public static Sequence parse(SequenceRow row) {
        return parse(row, Destinations.NONE);
    }

    /** The same on a node that knows destinations; whatever it knows, a version that was published stays readable. */
    public static Sequence parse(SequenceRow row, Destinations node) {
        return SequenceParser.parse(
                Json.parseDefinition(row.definition()), row.tenant(), row::id, handler -> true, node.forTenant(row.tenant()).forPublished());
    }

    @Override
    public Report validate(String tenant, JsonNode document) {
        Validation validation = SequenceParser.validate(document, handlerKnown, destinations.forTenant(tenant));
        return new Report(findings(validation.faults()), findings(validation.warnings()), validation.guarantees());
    }

    private static List<Finding> findings(List<Fault> faults) {
        return faults.stream().map(f -> new Finding(f.code(), f.pointer(), f.message())).toList();
    }

    @Override
    public SequenceRow publish(String tenant, JsonNode document) {
        Validation validation = SequenceParser.validate(document, handlerKnown, destinations.forTenant(tenant));
        if (!validation.valid()) {
            throw validation.refusal();
        }
        boolean numbered = document.hasNonNull("version");
        for (int race = 0; race < MAX_PUBLISH_RACES; race++) {
            String namespace = document.path("namespace").asString("default");
            String name = document.path("name").asString();
            int version = numbered ? document.path("version").asInt() : nextVersion(tenant, namespace, name);
            UUID id = document.hasNonNull("id") ? UUID.fromString(document.path("id").asString()) : ids.get();
            ObjectNode stored = ((ObjectNode) document).deepCopy();
            stored.put("id", id.toString());
            stored.put("tenant_id", tenant);
            stored.put("namespace", namespace);
            stored.put("version", version);
            SequenceRow row = new SequenceRow(id, tenant, namespace, name, version, false, Json.write(stored), null);
            if (store.insert(row)) {
                return get(tenant, id);
            }
            if (numbered || document.hasNonNull("id")) {
                throw WaybillException.conflict(
                        "SEQUENCE_EXISTS",
                        "sequence " + namespace + "/" + name + " version " + version + " (or its id) is published already; a version is"
                                + " immutable",
                        "leave out id and version to publish the next one");
            }
        }
        throw WaybillException.conflict("SEQUENCE_EXISTS", "others keep publishing this sequence; try again", null);
    }

    private int nextVersion(String tenant, String namespace, String name) {
        List<SequenceRow> versions = store.versions(tenant, namespace, name);
        return versions.isEmpty() ? 1 : versions.getFirst().version() + 1;
    }

    @Override
    public SequenceRow get(String tenant, UUID id) {
        return store.get(tenant, id).orElseThrow(() -> notFound("sequence " + id));
    }

    @Override
    public SequenceRow byName(String tenant, String namespace, String name, @Nullable Integer version) {
        return store.byName(tenant, namespace, name, version)
                .orElseThrow(() -> notFound("sequence " + namespace + "/" + name + (version == null ? "" : " version " + version)));
    }

    private static WaybillException notFound(String what) {
        return new WaybillException(404, "SEQUENCE_NOT_FOUND", what + " is not published", null, "waybill sequence list");
    }

    @Override
    public List<SequenceRow> versions(String tenant, String namespace, String name) {
        return store.versions(tenant, namespace, name);
    }

    @Override
    public List<SequenceRow> list(String tenant, @Nullable UUID after, int limit) {
        return store.list(tenant, after, limit);
    }

    @Override
    public void deprecate(String tenant, UUID id) {
        if (!store.deprecate(tenant, id)) {
            throw notFound("sequence " + id);
        }
    }

    @Override
    public void addInvariant(String tenant, UUID sequence, JsonNode invariant) {
        Sequence version = parse(get(tenant, sequence));
        String name = InvariantReader.parse(invariant).name();
        boolean taken = version.invariants().stream().anyMatch(it -> it.name().equals(name));
        if (taken || !store.addInvariant(new InvariantDeclaration(tenant, sequence, name, Json.write(invariant), null))) {
            throw WaybillException.conflict(
                    "INVARIANT_EXISTS", "sequence " + sequence + " has an invariant named " + name + "; it is never changed", "choose another name");
        }
    }

    @Override
    public List<JsonNode> invariants(String tenant, UUID sequence) {
        List<JsonNode> all = new ArrayList<>();
        Json.parseDefinition(get(tenant, sequence).definition()).path("invariants").forEach(all::add);
        store.invariants(tenant, sequence).forEach(it -> all.add(Json.parse(it.definition())));
        return List.copyOf(all);
    }
}

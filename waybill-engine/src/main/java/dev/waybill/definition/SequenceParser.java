package dev.waybill.definition;

import dev.waybill.definition.Sequence.Block;
import dev.waybill.definition.Sequence.Remedy;
import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Reads a sequence document (language.md) into a {@link Sequence} that is ready to run. All faults are found in one pass; a part of the
 * language that has no engine behind it yet is refused as UNSUPPORTED and never ignored.
 */
public final class SequenceParser {
    public static final String DEFAULT_NAMESPACE = "default";

    private static final Predicate<String> ANY_HANDLER = handler -> true;

    private SequenceParser() {}

    /**
     * @param tenant whose sequence it is; a {@code tenant_id} in the document must agree
     * @param ids    gives the id of a version whose document has none
     * @throws WaybillException 422 INVALID_SEQUENCE; {@code details} lists every fault
     */
    public static Sequence parse(JsonNode document, String tenant, Supplier<UUID> ids) {
        return parse(document, tenant, ids, ANY_HANDLER);
    }

    /** @param handlerKnown a step whose handler it does not know is refused with UNKNOWN_HANDLER */
    public static Sequence parse(JsonNode document, String tenant, Supplier<UUID> ids, Predicate<String> handlerKnown) {
        return parse(document, tenant, ids, handlerKnown, Destinations.NONE);
    }

    /** @param node destinations that the node knows; they are in force beside the document's own */
    public static Sequence parse(JsonNode document, String tenant, Supplier<UUID> ids, Predicate<String> handlerKnown, Destinations node) {
        Faults faults = new Faults();
        Sequence sequence = read(document, tenant, ids, handlerKnown, node, faults);
        Validation validation = faults.result();
        if (sequence == null || !validation.valid()) {
            throw validation.refusal();
        }
        return sequence;
    }

    /** Every fault and every warning; throws nothing. */
    public static Validation validate(JsonNode document) {
        return validate(document, ANY_HANDLER);
    }

    /** @param handlerKnown as in {@link #parse(JsonNode, String, Supplier, Predicate)} */
    public static Validation validate(JsonNode document, Predicate<String> handlerKnown) {
        return validate(document, handlerKnown, Destinations.NONE);
    }

    /** @param node destinations that the node knows, of this tenant */
    public static Validation validate(JsonNode document, Predicate<String> handlerKnown, Destinations node) {
        Faults faults = new Faults();
        read(document, null, () -> new UUID(0, 0), handlerKnown, node, faults);
        return faults.result();
    }

    private static @Nullable Sequence read(
            JsonNode document, @Nullable String tenant, Supplier<UUID> ids, Predicate<String> handlerKnown, Destinations known,
            Faults faults) {
        if (!document.isObject()) {
            faults.add("WRONG_TYPE", "", "a sequence is a JSON object");
            return null;
        }
        Fields fields = new Fields(document, "", faults);
        UUID id = id(fields, ids);
        String owner = fields.text("tenant_id");
        if (owner != null && tenant != null && !owner.equals(tenant)) {
            fields.fault("TENANT_MISMATCH", "tenant_id", "the document belongs to another tenant");
        }
        String namespace = fields.text("namespace");
        String name = fields.require("name", node -> node.isString() && !node.stringValue().isBlank(), "a non-empty string", Json.NODES.stringNode("?"))
                .stringValue();
        int version = fields.integer("version", 1, Integer.MAX_VALUE, 1);
        JsonNode inputSchema = schema(fields, "input_schema");
        List<Remedy> onUnknown = OnUnknownReader.read(fields, faults);
        Destinations own = new DestinationReader(faults, handlerKnown, false).list(fields);
        Destinations all = known.under(own);
        Set<DestinationProfile> used = new HashSet<>();
        BlockReader blocks = new BlockReader(faults, handlerKnown, all, used, onUnknown == null ? OnUnknownReader.DEFAULT : onUnknown);
        List<Block> body = blocks.blocks(fields, "blocks", true, 0, Set.of());
        Lint lint = new Lint(faults);
        if (own.profiles().size() == document.path("destinations").size()) {
            lint.unused(own, used);
        }
        lint.ids(inputSchema == null ? null : inputSchema.get("properties"), "/input_schema/properties");
        List<Invariant> invariants = new InvariantReader(faults).invariants(fields);
        fields.shown("deprecated", "status", "created_at", "guarantees");
        fields.unsupported("sla", "on_failure", "on_cancel", "interceptors");
        fields.done();
        return new Sequence(
                id,
                tenant == null ? "" : tenant,
                namespace == null ? DEFAULT_NAMESPACE : namespace,
                name,
                version,
                body,
                inputSchema,
                onUnknown == null ? OnUnknownReader.DEFAULT : onUnknown,
                invariants,
                all,
                document);
    }

    private static UUID id(Fields fields, Supplier<UUID> ids) {
        String text = fields.text("id");
        if (text == null) {
            return ids.get();
        }
        try {
            UUID id = UUID.fromString(text);
            // The JDK also reads "1-1-1-1-1"; an id that is not written as it is read would be two ids to others.
            if (id.toString().equalsIgnoreCase(text)) {
                return id;
            }
        } catch (IllegalArgumentException e) {
            // Falls through to the one fault for both.
        }
        fields.fault("WRONG_TYPE", "id", "id must be a UUID");
        return new UUID(0, 0);
    }

    static @Nullable JsonNode schema(Fields fields, String name) {
        JsonNode schema = fields.get(name);
        if (schema != null) {
            for (Schemas.Violation violation : Schemas.faults(schema)) {
                fields.fault("INVALID_SCHEMA", name, "not a JSON Schema (2020-12): " + violation.pointer() + " " + violation.message());
            }
        }
        return schema;
    }
}

package dev.waybill.server.api;

import dev.waybill.json.Json;
import dev.waybill.operate.RunView;
import dev.waybill.operate.Sequences.Finding;
import dev.waybill.operate.TreeNode;
import dev.waybill.store.Queries.AuditEntry;
import dev.waybill.store.Queries.Change;
import dev.waybill.store.Queries.NodeView;
import dev.waybill.store.SequenceRow;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** What the API shows of sequences, runs, changes, audits and nodes. A field that has no value is null, never missing. */
final class Views {
    private Views() {}

    /** The document as published, with what the store adds to it: the older wire's shape. */
    static ObjectNode sequence(SequenceRow row) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("id", row.id().toString());
        json.put("tenant_id", row.tenant());
        json.put("namespace", row.namespace());
        json.put("name", row.name());
        json.put("version", row.version());
        if (parse(row.definition()) instanceof ObjectNode document) {
            document.properties().forEach(field -> {
                if (!json.has(field.getKey())) {
                    json.set(field.getKey(), field.getValue());
                }
            });
        }
        json.put("deprecated", row.deprecated());
        time(json, "created_at", row.createdAt());
        return json;
    }

    static ArrayNode findings(List<Finding> findings) {
        return array(findings, finding -> Json.NODES
                .objectNode()
                .put("code", finding.code())
                .put("pointer", finding.pointer())
                .put("message", finding.message()));
    }

    static ObjectNode run(RunView run) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("id", run.id().toString());
        json.put("tenant_id", run.tenant());
        json.put("namespace", run.namespace());
        json.put("sequence_id", run.sequenceId().toString());
        json.put("sequence_name", run.sequenceName());
        json.put("sequence_version", run.sequenceVersion());
        json.put("continuity_id", run.executionId().toString());
        json.put("state", run.state().wire());
        json.set("reasons", run.reasons());
        node(json, "output", run.output());
        node(json, "error", run.error());
        json.set("residuals", run.residuals());
        json.put("priority", run.priority());
        json.set("context", run.context());
        node(json, "metadata", run.metadata());
        json.put("idempotency_key", run.idempotencyKey());
        json.put("claim_epoch", run.claimEpoch());
        json.put("cancel_requested", run.cancelRequested());
        json.put("pause_requested", run.pauseRequested());
        time(json, "next_fire_at", run.nextFireAt());
        time(json, "created_at", run.createdAt());
        time(json, "updated_at", run.updatedAt());
        return json;
    }

    /** The part of a run that says where it stands. */
    static ObjectNode runState(RunView run) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("id", run.id().toString());
        json.put("state", run.state().wire());
        json.set("reasons", run.reasons());
        node(json, "error", run.error());
        json.set("residuals", run.residuals());
        time(json, "next_fire_at", run.nextFireAt());
        return json;
    }

    static ObjectNode tree(TreeNode node) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("id", node.id());
        json.put("path", node.path());
        json.put("type", node.type());
        json.put("status", node.status());
        node(json, "output", node.output());
        node(json, "detail", node.detail());
        time(json, "due", node.due());
        json.set("children", array(node.children(), Views::tree));
        return json;
    }

    static ObjectNode change(Change change) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("cursor", change.cursor());
        json.put("event_type", change.type());
        json.put("tenant_id", change.instance().tenant());
        json.put("instance_id", change.instance().id().toString());
        json.put("effect_id", change.subject());
        time(json, "timestamp", change.at());
        json.set("data", parse(change.payload()));
        return json;
    }

    static ObjectNode audit(AuditEntry entry) {
        ObjectNode json = Json.NODES.objectNode();
        time(json, "at", entry.at());
        json.put("actor", entry.row().actor());
        json.put("action", entry.row().action());
        json.put("subject", entry.row().subject());
        json.set("details", parse(entry.row().details()));
        return json;
    }

    static ObjectNode node(NodeView node) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("id", node.node().toString());
        json.put("name", node.name());
        json.put("state", node.fenced() ? "fenced" : "live");
        time(json, "started_at", node.startedAt());
        time(json, "expires_at", node.expiresAt());
        return json;
    }

    // --- pieces ----------------------------------------------------------------------------------------------------------------

    /**
     * One page of a list.
     *
     * @param found one more than {@code limit} when there is a next page
     */
    static <T> ObjectNode page(List<T> found, int limit, Function<T, ? extends JsonNode> view, Function<T, String> cursor) {
        boolean more = found.size() > limit;
        List<T> items = more ? found.subList(0, limit) : found;
        ObjectNode json = Json.NODES.objectNode();
        json.set("items", array(items, view));
        json.put("has_more", more);
        json.put("next_cursor", more ? cursor.apply(items.getLast()) : null);
        return json;
    }

    static <T> ArrayNode array(List<T> items, Function<T, ? extends JsonNode> view) {
        ArrayNode array = Json.NODES.arrayNode();
        items.forEach(item -> array.add(view.apply(item)));
        return array;
    }

    static void node(ObjectNode json, String name, @Nullable JsonNode value) {
        json.set(name, value == null || value.isMissingNode() ? Json.NODES.nullNode() : value);
    }

    static void time(ObjectNode json, String name, @Nullable Instant at) {
        json.put(name, at == null ? null : at.toString());
    }

    /** Text that a store gave back; what is not JSON by the strict rules is shown as text. */
    static JsonNode parse(@Nullable String text) {
        if (text == null) {
            return Json.NODES.nullNode();
        }
        return Json.tryParse(text.getBytes(StandardCharsets.UTF_8), Json.MAX_LENIENT_DEPTH)
                .orElseGet(() -> Json.NODES.stringNode(text));
    }
}

package dev.waybill.server.api;

import dev.waybill.json.CanonicalJson;
import dev.waybill.json.Json;
import dev.waybill.json.SecretText;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Reply;
import dev.waybill.operate.EffectCase;
import dev.waybill.operate.Effects;
import dev.waybill.server.CaseSeal;
import dev.waybill.store.BlockRow;
import dev.waybill.store.DeskStore;
import dev.waybill.store.Queries;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** A case to take elsewhere: everything that is known of an effect, in one signed file. */
final class ExportRoutes {
    /** What the case file says about the moment it is read, or about us; the rows themselves are entries of their own. */
    private static final List<String> NOT_OF_THE_RECEIPT =
            List.of("next", "healing", "age_seconds", "quiet", "run", "journal", "evidence", "proposals", "search_link");

    private static final int MAX_EFFECTS = 10_000;

    private final Effects effects;
    private final Queries queries;
    private final DeskStore desk;
    private final Function<Call, UUID> receipt;

    ExportRoutes(Backend backend, Function<Call, UUID> receipt) {
        effects = backend.effects();
        queries = backend.queries();
        desk = backend.desk();
        this.receipt = receipt;
    }

    List<Endpoint> endpoints() {
        return List.of(
                Endpoint.get("/api/v1/effects/{id}/export", "exportEffect", "The whole case as one canonical, signed JSON document.")
                        .tag("effects")
                        .answers(200, "CaseExport")
                        .refuses(404, 409)
                        .does(this::export),
                Endpoint.get("/api/v1/signing-key", "getSigningKey", "The public key that exported cases are signed with.")
                        .tag("effects")
                        .answers(200, "SigningKey")
                        .does(_ -> Response.ok(CaseSeal.of(desk).publicKey())));
    }

    private Response export(Call call) {
        EffectCase file = effects.get(call.tenant(), receipt.apply(call).toString());
        ObjectNode document = CaseSeal.of(desk).seal(document(file));
        return new Response(200, "application/json", CanonicalJson.canonical(document), Map.of("Content-Disposition", "attachment"), false);
    }

    private ObjectNode document(EffectCase file) {
        ObjectNode shown = EffectViews.caseFile(file);
        ObjectNode document = Json.NODES.objectNode().put("format", CaseSeal.FORMAT);
        document.put("effect_id", file.effect().receipt().id().toString());
        document.put("exported_at", file.databaseNow().toString());
        ArrayNode entries = document.putArray("entries");
        ObjectNode receiptEntry = shown.deepCopy();
        NOT_OF_THE_RECEIPT.forEach(receiptEntry::remove);
        add(entries, "receipt", receiptEntry, null);
        for (int i = 0; i < file.journal().size(); i++) {
            Reply reply = file.journal().get(i).reply();
            add(entries, "journal", shown.path("journal").get(i), reply == null ? null : reply.body());
        }
        for (int i = 0; i < file.evidence().size(); i++) {
            add(entries, "evidence", shown.path("evidence").get(i), file.evidence().get(i).bytes());
        }
        if (file.run() != null) {
            add(entries, "run", Views.runState(file.run()), null);
            for (BlockRow row : queries.blockRows(file.effect().instance())) {
                if (row.kind() == BlockRow.Kind.OUTPUT) {
                    output(entries, row.path(), row.body());
                }
            }
            for (EffectView other : effectsOf(file)) {
                output(entries, other.receipt().path(), other.last() == null ? null : other.last().output());
            }
        }
        return document;
    }

    /** The output of a step that touches the outside stands in its receipt's journal, that of any other in a row of its own. */
    private List<EffectView> effectsOf(EffectCase file) {
        InstanceKey run = file.effect().instance();
        return effects.list(new EffectFilter(
                run.tenant(), false, Set.of(), run, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
                MAX_EFFECTS));
    }

    private static void output(ArrayNode entries, String path, @Nullable String text) {
        if (text != null) {
            ObjectNode output = Json.NODES.objectNode().put("path", path);
            output.set("output", SecretText.masked(Views.parse(text)));
            add(entries, "output", output, null);
        }
    }

    /** @param content whole, with its hash: what a view shows may be cut */
    private static void add(ArrayNode entries, String type, JsonNode body, byte @Nullable [] content) {
        ObjectNode entry = Json.NODES.objectNode().put("n", entries.size() + 1).put("type", type);
        entry.set("body", body);
        if (content != null) {
            entry.put("content_sha256", CaseSeal.sha256(content));
            entry.put("content_base64", Base64.getEncoder().encodeToString(content));
        }
        entries.add(entry);
    }
}

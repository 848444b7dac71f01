package dev.waybill.server.api;

import static dev.waybill.server.api.Endpoint.Type.INTEGER;
import static dev.waybill.server.api.Endpoint.Type.STRING;
import static dev.waybill.server.api.Endpoint.Type.TIME;
import static dev.waybill.server.api.Endpoint.Type.UUID;

import dev.waybill.json.Json;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.EffectCase;
import dev.waybill.operate.Effects;
import dev.waybill.operate.EvidenceFile;
import dev.waybill.operate.Resolution;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.Base64;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** The effects queue and the case file of each, under {@code /effects} and under the older wire's {@code /continuity}. */
final class EffectRoutes {
    private static final String V1 = "/api/v1";
    private static final String OPEN = "open";
    private static final Set<String> OTHER_FILTERS = Set.of(
            "state", "q", "block", "request_sha256", "fingerprint", "idempotency_key", "provider_receipt_id", "epoch", "attempt", "label",
            "instance_id", "from", "to", "cursor");

    private final Effects effects;
    private final InstantSource clock;

    EffectRoutes(Backend backend, InstantSource clock) {
        effects = backend.effects();
        this.clock = clock;
    }

    List<Endpoint> endpoints() {
        return List.of(
                Endpoint.get(V1 + "/effects", "listEffects", "Receipts, newest first; state=open is the queue that people work from.")
                        .tag("effects")
                        .query("state", STRING, "open, or one or more of " + states() + ", separated by commas")
                        .query("q", STRING, "exact: id, key, provider receipt id, request hash, fingerprint, block or a label's value")
                        .query("block", STRING, "block id")
                        .query("request_sha256", STRING, "request hash")
                        .query("fingerprint", STRING, "destination fingerprint")
                        .query("idempotency_key", STRING, "the key sent to the provider")
                        .query("provider_receipt_id", STRING, "the provider's own name for it")
                        .query("epoch", INTEGER, "claim epoch at dispatch")
                        .query("attempt", INTEGER, "0, 1, 2 ..")
                        .query("label", STRING, "a label's value")
                        .query("instance_id", UUID, "receipts of this run")
                        .query("from", TIME, "at or after")
                        .query("to", TIME, "before")
                        .query("proposed", STRING, "true, alone: those with a decision that waits for a second person, at most 500")
                        .paged()
                        .answers(200, "EffectList")
                        .does(call -> call.query("proposed") == null ? list(call, null) : proposed(call)),
                Endpoint.get(V1 + "/effects/{id}", "getEffect", "The case file: the receipt, every move, the evidence, what to do next.")
                        .tag("effects")
                        .answers(200, "EffectCase")
                        .refuses(404, 409)
                        .does(call -> Response.ok(EffectViews.caseFile(effects.get(call.tenant(), call.path("id"))))),
                verify(V1 + "/effects/{id}/verify", "verifyEffect"),
                verify(V1 + "/continuity/effects/{id}/verify", "verifyContinuityEffect"),
                resolve(V1 + "/effects/{id}/resolve", "resolveEffect"),
                output(V1 + "/effects/{id}/output", "supplyEffectOutput"),
                closing("approve", "approveProposal", "Carries out what another principal proposed; one transaction.")
                        .does(call -> caseFile(effects.approve(call.tenant(), receipt(call), proposal(call), call.actor()))),
                closing("reject", "rejectProposal", "Ends a proposal without deciding anything.")
                        .does(call -> caseFile(effects.reject(
                                call.tenant(), receipt(call), proposal(call), call.body().path("note").asString(""), call.actor()))),
                resolve(V1 + "/continuity/effects/{id}/resolve", "resolveContinuityEffect"),
                output(V1 + "/continuity/effects/{id}/output", "supplyContinuityEffectOutput"),
                Endpoint.post(V1 + "/effects/{id}/evidence", "attachEvidence", "Adds a note, a link or a file to the case; it decides nothing.")
                        .tag("effects")
                        .body("Attachment")
                        .withFile()
                        .answers(200, "EffectCase")
                        .refuses(404, 409, 422)
                        .does(this::attach),
                Endpoint.get(V1 + "/effects/{id}/evidence/{sha256}", "getEvidenceFile", "A file of the case, as it was attached.")
                        .tag("effects")
                        .answers(200, null, "application/octet-stream")
                        .refuses(404, 409)
                        .does(this::download),
                Endpoint.get(V1 + "/continuity/executions/{id}/effects", "listExecutionEffects", "The receipts of one logical execution.")
                        .tag("effects")
                        .paged()
                        .answers(200, "EffectList")
                        .does(call -> list(call, call.id("id", "EXECUTION_NOT_FOUND", "execution"))));
    }

    private Endpoint resolve(String path, String operationId) {
        return Endpoint.post(path, operationId, "Decides an unknown effect, with the proof; the run goes on in the same transaction.")
                .tag("effects")
                .header("Idempotency-Key", "The same key with the same decision again answers what the first one did.")
                .body("Resolution")
                .withFile()
                .answers(200, "EffectCase")
                .answers(202, "EffectCase")
                .refuses(404, 409, 422)
                .does(this::resolve);
    }

    private static Endpoint closing(String verb, String operationId, String summary) {
        return Endpoint.post(V1 + "/effects/{id}/" + verb, operationId, summary)
                .tag("effects")
                .body("ProposalDecision")
                .answers(200, "EffectCase")
                .refuses(403, 404, 409, 422);
    }

    private static Response caseFile(EffectCase file) {
        return Response.ok(EffectViews.caseFile(file));
    }

    private static java.util.UUID proposal(Call call) {
        return java.util.UUID.fromString(call.body().path("proposal_id").asString());
    }

    private Response proposed(Call call) {
        if (!call.query("proposed", "").equals("true") || call.context().queryParamMap().keySet().stream().anyMatch(OTHER_FILTERS::contains)) {
            throw Call.invalid("proposed", "is true or left out, and goes with no other filter");
        }
        List<EffectView> found = effects.proposed(call.tenant());
        Instant now = clock.instant();
        return Response.ok(Views.page(found, found.size(), view -> EffectViews.effect(view, now), EffectRoutes::cursor));
    }

    private Endpoint verify(String path, String operationId) {
        return Endpoint.post(path, operationId, "Asks the step's verifier now, whatever its schedule; what it says is recorded.")
                .tag("effects")
                .optionalBody("Empty")
                .answers(200, "EffectCase")
                .refuses(404, 409)
                .does(call -> {
                    call.body();
                    return Response.ok(EffectViews.caseFile(effects.verify(call.tenant(), receipt(call), call.actor())));
                });
    }

    private Endpoint output(String path, String operationId) {
        return Endpoint.post(path, operationId, "Ends an output_lost wait with the output a person found, once.")
                .tag("effects")
                .body("OutputSupply")
                .answers(200, "EffectCase")
                .refuses(404, 409, 422)
                .does(this::supplyOutput);
    }

    private Response list(Call call, java.util.@Nullable UUID execution) {
        int limit = call.limit();
        boolean open = false;
        Set<EffectState> states = EnumSet.noneOf(EffectState.class);
        for (String state : call.queryList("state")) {
            if (state.equals(OPEN)) {
                open = true;
            } else {
                states.add(Arrays.stream(EffectState.values())
                        .filter(s -> s.wire().equals(state))
                        .findFirst()
                        .orElseThrow(() -> Call.invalid("state", "must be open or one of " + states())));
            }
        }
        java.util.UUID instance = call.queryId("instance_id");
        Integer epoch = call.queryInt("epoch", 0, Integer.MAX_VALUE);
        List<EffectView> found = effects.list(new EffectFilter(
                call.tenant(),
                open,
                states,
                instance == null ? null : new InstanceKey(call.tenant(), instance),
                execution,
                call.query("q"),
                null,
                call.query("block"),
                call.query("request_sha256"),
                call.query("fingerprint"),
                call.query("idempotency_key"),
                call.query("provider_receipt_id"),
                epoch == null ? null : epoch.longValue(),
                call.queryInt("attempt", 0, Integer.MAX_VALUE),
                call.query("label"),
                call.queryTime("from"),
                call.queryTime("to"),
                cursor(call.query("cursor")),
                limit + 1));
        Instant now = clock.instant();
        return Response.ok(Views.page(found, limit, view -> EffectViews.effect(view, now), EffectRoutes::cursor));
    }

    private static String states() {
        return String.join(" ", Arrays.stream(EffectState.values()).map(EffectState::wire).toList());
    }

    private static String cursor(EffectView last) {
        String text = last.receipt().at() + "|" + last.receipt().id();
        return Base64.getUrlEncoder().withoutPadding().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private static @Nullable String cursor(@Nullable String encoded) {
        if (encoded == null) {
            return null;
        }
        try {
            String text = new String(Base64.getUrlDecoder().decode(encoded), StandardCharsets.UTF_8);
            int bar = text.indexOf('|');
            Instant.parse(text.substring(0, Math.max(0, bar)));
            java.util.UUID.fromString(text.substring(bar + 1));
            return text;
        } catch (IllegalArgumentException | java.time.DateTimeException e) {
            throw Call.invalid("cursor", "is not a next_cursor of this list");
        }
    }

    private Response resolve(Call call) {
        JsonNode body = call.body();
        JsonNode then = body.path("then");
        Resolution resolution = new Resolution(
                EffectState.ofWire(body.path("state").asString()),
                note(body),
                link(body),
                text(body.get("provider_receipt_id")),
                body.has("output") ? body.get("output") : null,
                then.isString() ? Resolution.Then.valueOf(then.asString().toUpperCase(Locale.ROOT)) : null,
                call.actor(),
                call.idempotencyKey(),
                file(body.path("evidence").path("file"), "/evidence"));
        EffectCase file = effects.resolve(call.tenant(), receipt(call), resolution);
        return Response.json(file.pending() == null ? 200 : 202, EffectViews.caseFile(file));
    }

    private Response attach(Call call) {
        JsonNode body = call.body();
        var attachments = Effects.attachments(text(body.get("note")), text(body.get("link")), file(body.path("file"), ""));
        return Response.ok(EffectViews.caseFile(effects.attach(call.tenant(), receipt(call), attachments, call.actor())));
    }

    /** Always as bytes to keep: a page or a picture that somebody attached is not run under this server's name. */
    private Response download(Call call) {
        String sha256 = call.path("sha256").toLowerCase(Locale.ROOT);
        return effects.get(call.tenant(), call.path("id")).evidence().stream()
                .filter(row -> row.kind().equals("file") && row.bytes() != null)
                .filter(row -> Json.parse(row.body()).path("sha256").asString("").equals(sha256))
                .findFirst()
                .map(row -> new Response(200, "application/octet-stream", Objects.requireNonNull(row.bytes()), Map.of(
                        "Content-Disposition", "attachment; filename*=UTF-8''" + encoded(Json.parse(row.body()).path("name").asString("file"))), false))
                .orElseThrow(() -> WaybillException.notFound("EVIDENCE_NOT_FOUND", "the case holds no file with this sha256"));
    }

    /** RFC 8187. */
    private static String encoded(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A");
    }

    private static @Nullable EvidenceFile file(JsonNode file, String pointer) {
        if (!file.isObject()) {
            return null;
        }
        byte[] content;
        try {
            content = Base64.getDecoder().decode(file.path("content_base64").asString());
        } catch (IllegalArgumentException e) {
            throw WaybillException.badRequest("INVALID_FIELD", "content_base64 is not base64", pointer + "/file/content_base64");
        }
        EvidenceFile given;
        try {
            given = new EvidenceFile(file.path("name").asString(), content);
        } catch (WaybillException e) {
            throw new WaybillException(e.status(), e.code(), String.valueOf(e.getMessage()), pointer + e.pointer(), e.next());
        }
        String promised = text(file.get("sha256"));
        if (promised != null && !promised.equalsIgnoreCase(given.sha256())) {
            throw new WaybillException(
                    422, "EVIDENCE_INVALID", "the content has the sha256 " + given.sha256() + ", not the promised one", pointer + "/file/sha256",
                    "send the file again");
        }
        return given;
    }

    private Response supplyOutput(Call call) {
        JsonNode body = call.body();
        return Response.ok(EffectViews.caseFile(
                effects.supplyOutput(call.tenant(), receipt(call), body.get("output"), note(body), link(body), call.actor())));
    }

    /** A whole id is taken as it is; a prefix is looked up among the open ones. */
    private java.util.UUID receipt(Call call) {
        String id = call.path("id");
        return id.length() == 36
                ? call.id("id", "EFFECT_NOT_FOUND", "effect")
                : effects.get(call.tenant(), id).effect().receipt().id();
    }

    /** {@code evidence} is a note, or {@code {note, link}}. Whether an empty one will do is not decided here. */
    private static String note(JsonNode body) {
        JsonNode evidence = body.path("evidence");
        return evidence.isString() ? evidence.asString() : evidence.path("note").asString("");
    }

    private static @Nullable String link(JsonNode body) {
        return text(body.path("evidence").get("link"));
    }

    private static @Nullable String text(@Nullable JsonNode value) {
        return value == null || value.isNull() ? null : value.asString();
    }
}

package dev.waybill.server.api;

import static dev.waybill.server.api.Endpoint.Type.INTEGER;
import static dev.waybill.server.api.Endpoint.Type.STRING;
import static dev.waybill.server.api.Endpoint.Type.TIME;
import static dev.waybill.server.api.Endpoint.Type.UUID;

import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.operate.EffectCase;
import dev.waybill.operate.Effects;
import dev.waybill.operate.Proposal;
import dev.waybill.operate.Resolution;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.Base64;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** The effects queue and the case file of each, under {@code /effects} and under the older wire's {@code /continuity}. */
final class EffectRoutes {
    private static final String V1 = "/api/v1";
    private static final String OPEN = "open";

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
                        .paged()
                        .answers(200, "EffectList")
                        .does(call -> list(call, null)),
                Endpoint.get(V1 + "/effects/{id}", "getEffect", "The case file: the receipt, every move, the evidence, what to do next.")
                        .tag("effects")
                        .answers(200, "EffectCase")
                        .refuses(404, 409)
                        .does(call -> Response.ok(EffectViews.caseFile(effects.get(call.tenant(), call.path("id"))))),
                verify(V1 + "/effects/{id}/verify", "verifyEffect"),
                verify(V1 + "/continuity/effects/{id}/verify", "verifyContinuityEffect"),
                resolve(V1 + "/effects/{id}/resolve", "resolveEffect"),
                output(V1 + "/effects/{id}/output", "supplyEffectOutput"),
                resolve(V1 + "/continuity/effects/{id}/resolve", "resolveContinuityEffect"),
                output(V1 + "/continuity/effects/{id}/output", "supplyContinuityEffectOutput"),
                Endpoint.get(V1 + "/continuity/executions/{id}/effects", "listExecutionEffects", "The receipts of one logical execution.")
                        .tag("effects")
                        .paged()
                        .answers(200, "EffectList")
                        .does(call -> list(call, call.id("id", "EXECUTION_NOT_FOUND", "execution", "waybill run list"))));
    }

    private Endpoint resolve(String path, String operationId) {
        return Endpoint.post(path, operationId, "Decides an unknown effect, with the proof; the run goes on in the same transaction. 202: another principal has to approve it.")
                .tag("effects")
                .header("Idempotency-Key", "The same key with the same decision again answers what the first one did.")
                .body("Resolution")
                .answers(200, "EffectCase")
                .answers(202, "EffectCase")
                .refuses(404, 409, 422)
                .does(this::resolve);
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
                EvidenceRoutes.file(body.path("evidence").get("file"), "/evidence/file"));
        EffectCase file = effects.resolve(call.tenant(), receipt(call), resolution);
        return Response.json(Proposal.pending(file.effect(), file.evidence(), file.databaseNow()).isPresent() ? 202 : 200, EffectViews.caseFile(file));
    }

    private Response supplyOutput(Call call) {
        JsonNode body = call.body();
        return Response.ok(EffectViews.caseFile(
                effects.supplyOutput(call.tenant(), receipt(call), body.get("output"), note(body), link(body), call.actor())));
    }

    /** A whole id is taken as it is; a prefix is looked up among the open ones. */
    java.util.UUID receipt(Call call) {
        String id = call.path("id");
        return id.length() == 36
                ? call.id("id", "EFFECT_NOT_FOUND", "effect", "waybill effects list")
                : effects.get(call.tenant(), id).effect().receipt().id();
    }

    /** {@code evidence} is a note, or {@code {note, link, file}}. Whether an empty one will do is not decided here. */
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

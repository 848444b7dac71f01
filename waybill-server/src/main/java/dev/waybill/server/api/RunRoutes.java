package dev.waybill.server.api;

import static dev.waybill.server.api.Endpoint.Type.INTEGER;
import static dev.waybill.server.api.Endpoint.Type.STRING;
import static dev.waybill.server.api.Endpoint.Type.UUID;

import dev.waybill.json.Json;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.RunView;
import dev.waybill.operate.Runs;
import dev.waybill.operate.StartRequest;
import dev.waybill.operate.Started;
import dev.waybill.store.Queries;
import dev.waybill.store.Queries.InstanceFilter;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code /api/v1/instances}: start runs, look at them, steer them. */
final class RunRoutes {
    private static final String BASE = "/api/v1/instances";
    /** How long one request may wait for a run; a client that wants longer asks again. */
    private static final int MAX_WAIT_MILLIS = 30_000;

    private final Runs runs;
    private final Queries queries;
    private final InstantSource clock;

    RunRoutes(Backend backend, InstantSource clock) {
        runs = backend.runs();
        queries = backend.queries();
        this.clock = clock;
    }

    List<Endpoint> endpoints() {
        return List.of(
                Endpoint.post(BASE, "createInstance", "Starts a run; when this answers, the run is durable.")
                        .tag("instances")
                        .header("Idempotency-Key", "The same key starts the run once; 1 to 255 characters. Instead of idempotency_key.")
                        .body("StartRequest")
                        .answers(201, "Started")
                        .answers(200, "Started")
                        .refuses(404, 422)
                        .does(this::create),
                Endpoint.get(BASE, "listInstances", "Runs, newest first.")
                        .tag("instances")
                        .query("state", STRING, "one or more of " + states() + ", separated by commas")
                        .query("sequence_id", UUID, "runs of this version")
                        .query("metadata.*", STRING, "metadata.KEY=VALUE, any number: all must match")
                        .paged()
                        .query("offset", INTEGER, "items to skip; a cursor is cheaper")
                        .answers(200, "InstanceList")
                        .does(this::list),
                Endpoint.get(BASE + "/{id}", "getInstance", "One run. With wait_ms it answers when the run has ended or needs somebody.")
                        .tag("instances")
                        .query("wait_ms", INTEGER, "wait at most this long, 0 to " + MAX_WAIT_MILLIS)
                        .answers(200, "Instance")
                        .refuses(404)
                        .does(this::get),
                read("/state", "getInstanceState", "Where a run stands, and why.", "InstanceState", this::state),
                read("/context", "getInstanceContext", "The context as started.", "Context", call -> Response.ok(run(call).context())),
                read("/outputs", "getInstanceOutputs", "Outputs by block path.", "Outputs", this::outputs),
                read("/effects", "getInstanceEffects", "The receipts of a run.", "EffectList", this::effects),
                read("/tree", "getInstanceTree", "Every block of a run with what became of it.", "TreeList", this::tree),
                read("/audit", "getInstanceAudit", "Who did what to a run.", "AuditList", this::audit),
                Endpoint.post(BASE + "/{id}/retry", "retryInstance", "Runs a failed run again from the failed step; committed effects are reused.")
                        .header("Idempotency-Key", "The same key again retries nothing and answers how the run stands.")
                        .tag("instances")
                        .optionalBody("Empty")
                        .answers(200, "Instance")
                        .refuses(404, 409)
                        .does(call -> {
                            call.body();
                            return Response.ok(Views.run(runs.retry(call.tenant(), id(call), call.actor(), call.idempotencyKey())));
                        }),
                Endpoint.post(BASE + "/{id}/compensate", "compensateInstance", "Undoes what the unfinished sagas of a failed or cancelled run certainly did.")
                        .header("Idempotency-Key", "The same key again starts nothing and answers how the run stands.")
                        .tag("instances")
                        .optionalBody("Empty")
                        .answers(200, "Instance")
                        .refuses(404, 409)
                        .does(call -> {
                            call.body();
                            return Response.ok(Views.run(runs.compensate(call.tenant(), id(call), call.actor(), call.idempotencyKey())));
                        }),
                Endpoint.post(BASE + "/{id}/signals", "signalInstance", "Pauses, resumes or cancels a run.")
                        .tag("instances")
                        .body("Signal")
                        .answers(200, "Instance")
                        .refuses(404, 409)
                        .does(this::signal));
    }

    private static Endpoint read(String suffix, String operationId, String summary, String schema, Endpoint.Action action) {
        return Endpoint.get(BASE + "/{id}" + suffix, operationId, summary)
                .tag("instances")
                .answers(200, schema)
                .refuses(404)
                .does(action);
    }

    private static java.util.UUID id(Call call) {
        return call.id("id", "RUN_NOT_FOUND", "run", "waybill run list");
    }

    private RunView run(Call call) {
        return runs.get(call.tenant(), id(call));
    }

    private Response create(Call call) {
        JsonNode body = call.body();
        if (body.has("sequence_id") == body.has("sequence_name")) {
            throw WaybillException.badRequest(
                    "MISSING_FIELD", "name the sequence by sequence_id or by sequence_name, one of the two", "/sequence_id");
        }
        if (body.has("version") && body.has("sequence_id")) {
            throw WaybillException.badRequest("INVALID_FIELD", "a sequence_id already names one version", "/version");
        }
        Started started = runs.start(new StartRequest(
                call.tenantOf(body),
                body.path("namespace").asString("default"),
                body.has("sequence_id") ? java.util.UUID.fromString(body.get("sequence_id").asString()) : null,
                body.has("sequence_name") ? body.get("sequence_name").asString() : null,
                body.has("version") ? body.get("version").intValue() : null,
                present(body.get("context")),
                present(body.get("metadata")),
                call.idempotencyKey(body),
                body.path("priority").asString("normal"),
                delayUntil(present(body.get("next_fire_at")))));
        ObjectNode json = Json.NODES.objectNode();
        json.put("id", started.id().toString());
        json.put("deduplicated", started.deduplicated());
        return Response.json(started.deduplicated() ? 200 : 201, json).header("Location", BASE + "/" + started.id());
    }

    private Duration delayUntil(@Nullable JsonNode at) {
        if (at == null) {
            return Duration.ZERO;
        }
        try {
            Instant now = clock.instant();
            Instant due = OffsetDateTime.parse(at.asString()).toInstant();
            return due.isBefore(now) ? Duration.ZERO : Duration.between(now, due);
        } catch (DateTimeException e) {
            throw WaybillException.badRequest("INVALID_FIELD", "next_fire_at is not a time such as 2026-01-31T12:00:00Z", "/next_fire_at");
        }
    }

    private static @Nullable JsonNode present(@Nullable JsonNode value) {
        return value == null || value.isNull() ? null : value;
    }

    private Response list(Call call) {
        int limit = call.limit();
        Set<InstanceState> states = EnumSet.noneOf(InstanceState.class);
        for (String state : call.queryList("state")) {
            states.add(Arrays.stream(InstanceState.values())
                    .filter(s -> s.wire().equals(state))
                    .findFirst()
                    .orElseThrow(() -> Call.invalid("state", "must be one of " + states())));
        }
        List<RunView> found = runs.list(new InstanceFilter(
                call.tenant(), states, call.queryId("sequence_id"), call.queryPrefix("metadata."), call.queryId("cursor"),
                limit + 1, call.offset()));
        return Response.ok(Views.page(found, limit, Views::run, run -> run.id().toString()));
    }

    private static String states() {
        return String.join(" ", Arrays.stream(InstanceState.values()).map(InstanceState::wire).toList());
    }

    private Response get(Call call) {
        Integer waitMillis = call.queryInt("wait_ms", 0, MAX_WAIT_MILLIS);
        RunView run = waitMillis == null || waitMillis == 0
                ? run(call)
                : runs.await(call.tenant(), id(call), Duration.ofMillis(waitMillis));
        return Response.ok(Views.run(run));
    }

    private Response state(Call call) {
        return Response.ok(Views.runState(run(call)));
    }

    private Response outputs(Call call) {
        ObjectNode json = Json.NODES.objectNode();
        runs.outputs(call.tenant(), id(call)).forEach(json::set);
        return Response.ok(json);
    }

    private Response effects(Call call) {
        Instant now = clock.instant();
        return whole(runs.effects(call.tenant(), id(call)), effect -> EffectViews.effect(effect, now));
    }

    private Response tree(Call call) {
        return whole(runs.tree(call.tenant(), id(call)), Views::tree);
    }

    private Response audit(Call call) {
        return whole(queries.audit(call.tenant(), run(call).id().toString(), Call.MAX_LIMIT), Views::audit);
    }

    private static <T> Response whole(List<T> items, java.util.function.Function<T, JsonNode> view) {
        return Response.ok(Views.page(items, Math.max(1, items.size()), view, _ -> ""));
    }

    private Response signal(Call call) {
        JsonNode type = call.body().path("signal_type");
        String tenant = call.tenant();
        RunView run = switch (type.asString("")) {
            case "pause" -> runs.pause(tenant, id(call), call.actor());
            case "resume" -> runs.resume(tenant, id(call), call.actor());
            case "cancel" -> runs.cancel(tenant, id(call), call.actor());
            default -> throw new WaybillException(
                    400, "SIGNAL_UNSUPPORTED", "this version knows the signals pause, resume and cancel", "/signal_type", null);
        };
        return Response.ok(Views.run(run));
    }
}

package dev.waybill.operate;

import dev.waybill.definition.Schemas;
import dev.waybill.definition.Sequence;
import dev.waybill.engine.EngineRuntime;
import dev.waybill.engine.RunInspection;
import dev.waybill.engine.SequenceCache;
import dev.waybill.json.CanonicalJson;
import dev.waybill.json.Json;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.store.AuditRow;
import dev.waybill.store.BlockRow;
import dev.waybill.store.Event;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.Queries.InstanceFilter;
import dev.waybill.store.SequenceRow;
import dev.waybill.store.Start;
import dev.waybill.store.StartAnswer;
import dev.waybill.store.Store;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Starts runs and steers them. Every deed is decided from what was read and is one compare-and-swap; a lost one is read again. */
public final class RunDesk implements Runs {
    static final int MAX_CONTEXT_BYTES = 256 * 1024;
    private static final int MAX_KEY = 255;
    private static final int MAX_RACES = 50;
    private static final String KEY_SCOPE = "instance";
    private static final List<String> PRIORITIES = List.of("low", "normal", "high", "critical");

    private final Store store;
    private final EngineRuntime engine;
    private final SequenceCache sequences;
    private final Supplier<UUID> ids;

    public RunDesk(Store store, EngineRuntime engine, SequenceCache sequences, Supplier<UUID> ids) {
        this.store = store;
        this.engine = engine;
        this.sequences = sequences;
        this.ids = ids;
    }

    // --- start -----------------------------------------------------------------------------------------------------------------

    @Override
    public Started start(StartRequest request) {
        Sequence sequence = resolve(request);
        ObjectNode context = context(request.context());
        if (sequence.inputSchema() != null) {
            List<Schemas.Violation> violations = Schemas.violations(sequence.inputSchema(), context.get("data"));
            if (!violations.isEmpty()) {
                StringBuilder all = new StringBuilder();
                violations.forEach(v -> all.append(all.isEmpty() ? "" : "; ").append(v.pointer()).append(' ').append(v.message()));
                throw new WaybillException(
                        422, "INPUT_INVALID", "context.data is against the sequence's input_schema: " + all,
                        "/context/data" + violations.getFirst().pointer(), null);
            }
        }
        String text = Json.write(context);
        if (text.length() > MAX_CONTEXT_BYTES || text.getBytes(StandardCharsets.UTF_8).length > MAX_CONTEXT_BYTES) {
            throw new WaybillException(
                    413, "CONTEXT_TOO_LARGE", "the context is larger than " + MAX_CONTEXT_BYTES + " bytes", "/context", null);
        }
        int priority = PRIORITIES.indexOf(request.priority());
        if (priority < 0) {
            throw WaybillException.badRequest("PRIORITY_INVALID", "priority is one of " + PRIORITIES, "/priority");
        }
        String key = request.idempotencyKey() == null ? null : checkedKey(request.idempotencyKey());
        UUID id = ids.get();
        UUID execution = ids.get();
        String payload = key == null ? null : CanonicalJson.sha256Hex(identity(request, sequence, context));
        Start start = new Start(
                new InstanceKey(request.tenant(), id), execution, sequence.id(), sequence.namespace(), priority,
                Math.max(0, request.delay().toMillis()), text, request.metadata() == null ? null : Json.write(request.metadata()),
                key == null ? null : KEY_SCOPE, key, payload, null);
        return switch (engine.start(start)) {
            case StartAnswer.Created _ -> new Started(id, false);
            case StartAnswer.Existing existing -> {
                if (payload != null && !payload.equals(existing.payloadSha256())) {
                    throw new WaybillException(
                            422, "IDEMPOTENCY_KEY_REUSED",
                            "the idempotency key was used before for another request; the first run " + existing.instance()
                                    + " is untouched",
                            "/idempotency_key", "waybill run show " + existing.instance());
                }
                yield new Started(existing.instance(), true);
            }
        };
    }

    /** What a key stands for: the sequence by name, and the data; not the version, which may move between two tries of a caller. */
    private static ObjectNode identity(StartRequest request, Sequence sequence, ObjectNode context) {
        ObjectNode identity = Json.NODES.objectNode();
        identity.put("namespace", sequence.namespace());
        identity.put("sequence", sequence.name());
        identity.set("context", context);
        return identity;
    }

    private Sequence resolve(StartRequest request) {
        UUID id = request.sequenceId();
        if (id == null) {
            if (request.name() == null) {
                throw WaybillException.badRequest("SEQUENCE_REQUIRED", "say which sequence: sequence_id or sequence_name", "/sequence_id");
            }
            id = store.sequences()
                    .byName(request.tenant(), request.namespace(), request.name(), request.version())
                    .map(SequenceRow::id)
                    .orElseThrow(() -> new WaybillException(
                            404, "SEQUENCE_NOT_FOUND",
                            "sequence " + request.namespace() + "/" + request.name() + " is not published", "/sequence_name",
                            "waybill sequence list"));
        }
        Sequence sequence = sequences.sequence(request.tenant(), id);
        if (sequence == null) {
            throw new WaybillException(
                    404, "SEQUENCE_NOT_FOUND", "sequence " + id + " is not published", "/sequence_id", "waybill sequence list");
        }
        return sequence;
    }

    private static ObjectNode context(@Nullable JsonNode given) {
        ObjectNode context = Json.NODES.objectNode();
        if (given == null || given.isNull()) {
            context.putObject("data");
            return context;
        }
        if (!given.isObject()) {
            throw WaybillException.badRequest("CONTEXT_INVALID", "context is an object of data and config", "/context");
        }
        for (String member : given.propertyNames()) {
            if (!member.equals("data") && !member.equals("config")) {
                throw WaybillException.badRequest(
                        "CONTEXT_INVALID", "context has data and config; '" + member + "' is neither", "/context/" + member);
            }
            context.set(member, given.get(member));
        }
        if (!context.has("data")) {
            context.putObject("data");
        }
        return context;
    }

    /** Compared exactly: no folding, no normalising, no trimming (semantics.md section 7, case A29). */
    static String checkedKey(String key) {
        boolean bad = key.isBlank()
                || key.length() > MAX_KEY
                || Character.isWhitespace(key.codePointAt(0))
                || Character.isWhitespace(key.codePointBefore(key.length()))
                || key.chars().anyMatch(Character::isISOControl);
        if (bad) {
            throw WaybillException.badRequest(
                    "IDEMPOTENCY_KEY_INVALID",
                    "an idempotency key has 1 to " + MAX_KEY + " characters, no control characters and no leading or trailing white space",
                    "/idempotency_key");
        }
        return key;
    }

    // --- look ------------------------------------------------------------------------------------------------------------------

    @Override
    public RunView get(String tenant, UUID id) {
        return view(snapshot(tenant, id).instance());
    }

    private InstanceSnapshot snapshot(String tenant, UUID id) {
        return store.load(new InstanceKey(tenant, id)).orElseThrow(() -> runNotFound(id));
    }

    private static WaybillException runNotFound(UUID id) {
        return new WaybillException(404, "RUN_NOT_FOUND", "there is no run " + id, null, "waybill run list");
    }

    private RunInspection inspect(String tenant, UUID id) {
        RunInspection inspection = engine.inspect(new InstanceKey(tenant, id));
        if (inspection == null) {
            throw runNotFound(id);
        }
        return inspection;
    }

    RunView view(InstanceRecord r) {
        Sequence sequence = sequences.sequence(r.key().tenant(), r.sequenceId());
        JsonNode outcome = r.outcome() == null ? null : trusted(r.outcome());
        JsonNode empty = Json.NODES.arrayNode();
        return new RunView(
                r.key().id(), r.key().tenant(), r.namespace(), r.sequenceId(), sequence == null ? "" : sequence.name(),
                sequence == null ? 0 : sequence.version(), r.execution(), r.state(), PRIORITIES.get(r.priority()),
                r.reasons() == null ? empty : trusted(r.reasons()), outcome == null ? null : outcome.get("output"),
                outcome == null ? null : outcome.get("error"),
                outcome == null || outcome.get("residuals") == null ? empty : outcome.get("residuals"), trusted(r.context()),
                r.metadata() == null ? null : trusted(r.metadata()), r.dedupKey(), r.claim().epoch(), r.cancelRequested(),
                r.pauseRequested(), r.nextFireAt(), r.createdAt(), r.updatedAt());
    }

    /** Rows of ours nest deeper than what callers may send. */
    private static JsonNode trusted(String text) {
        return Json.tryParse(text.getBytes(StandardCharsets.UTF_8), Json.MAX_LENIENT_DEPTH)
                .orElseThrow(() -> new IllegalStateException("a row of ours is not JSON"));
    }

    @Override
    public List<RunView> list(InstanceFilter filter) {
        return store.queries().instances(filter).stream().map(this::view).toList();
    }

    @Override
    public Map<String, JsonNode> outputs(String tenant, UUID id) {
        return inspect(tenant, id).outputs();
    }

    @Override
    public List<EffectView> effects(String tenant, UUID id) {
        snapshot(tenant, id);
        return store.queries().effects(filterOf(new InstanceKey(tenant, id), 10_000));
    }

    static EffectFilter filterOf(InstanceKey instance, int limit) {
        return new EffectFilter(
                instance.tenant(), false, Set.of(), instance, null, null, null, null, null, null, null, null, null, null, null, null, null,
                null, limit);
    }

    @Override
    public List<TreeNode> tree(String tenant, UUID id) {
        return inspect(tenant, id).tree().stream().map(RunDesk::treeNode).toList();
    }

    private static TreeNode treeNode(RunInspection.Node node) {
        return new TreeNode(
                node.id(), node.path(), node.type(), node.status(), node.output(), node.detail(), null,
                node.children().stream().map(RunDesk::treeNode).toList());
    }

    // --- steer -----------------------------------------------------------------------------------------------------------------

    @Override
    public RunView retry(String tenant, UUID id, String actor, @Nullable String idempotencyKey) {
        if (idempotencyKey != null && doneBefore(tenant, id, "run.retry", checkedKey(idempotencyKey))) {
            return get(tenant, id);
        }
        String details = idempotencyKey == null
                ? "{}"
                : Json.write(Json.NODES.objectNode().put("idempotency_key", idempotencyKey));
        InstanceKey key = new InstanceKey(tenant, id);
        for (int race = 0; race < MAX_RACES; race++) {
            RunInspection run = inspect(tenant, id);
            InstanceRecord instance = run.snapshot().instance();
            boolean crashLoop = instance.reasons() != null && instance.reasons().contains("\"crash_loop\"");
            List<String> stopped = run.stoppedAt();
            boolean failed = instance.state() == InstanceState.FAILED;
            boolean abandoned = instance.state() == InstanceState.WAITING && !stopped.isEmpty();
            List<UUID> unresolved = run.unresolved();
            boolean stopsHere = failed || instance.state() == InstanceState.WAITING;
            if (!unresolved.isEmpty() && stopsHere && !crashLoop) {
                throw WaybillException.conflict(
                        "EFFECT_UNRESOLVED",
                        "run " + id + " has effects nobody knows the outcome of: " + unresolved + "; resolve them first",
                        "waybill effects show " + unresolved.getFirst());
            }
            if (!failed && !abandoned && !crashLoop) {
                throw WaybillException.conflict(
                        "RUN_NOT_FAILED", "run " + id + " is " + instance.state().wire() + "; only a failed run is retried",
                        "waybill run show " + id);
            }
            if (!crashLoop && run.undone(stopped)) {
                throw WaybillException.conflict(
                        "RUN_UNDONE", "run " + id + " has undone what came before: it cannot go on from there",
                        "start it anew; to undo what is left: waybill run compensate " + id);
            }
            refuseBeforeQuiet(run, stopped);
            UUID transition = ids.get();
            List<BlockRow> rows = new ArrayList<>();
            stopped.forEach(path -> rows.add(run.clear(path, transition)));
            rows.add(run.clearCrashLoop(transition));
            OutsideMove move = move(key, transition, instance, Set.of(instance.state()), rows, null, null, Set.of(instance.state()),
                    new AuditRow(actor, "run.retry", id.toString(), details));
            if (applied(key, move)) {
                return get(tenant, id);
            }
        }
        throw busy(id);
    }

    @Override
    public RunView compensate(String tenant, UUID id, String actor, @Nullable String idempotencyKey) {
        if (idempotencyKey != null && doneBefore(tenant, id, "run.compensate", checkedKey(idempotencyKey))) {
            return get(tenant, id);
        }
        String details = idempotencyKey == null
                ? "{}"
                : Json.write(Json.NODES.objectNode().put("idempotency_key", idempotencyKey));
        InstanceKey key = new InstanceKey(tenant, id);
        for (int race = 0; race < MAX_RACES; race++) {
            RunInspection run = inspect(tenant, id);
            InstanceRecord instance = run.snapshot().instance();
            InstanceState state = instance.state();
            if (state != InstanceState.FAILED && state != InstanceState.CANCELLED) {
                throw WaybillException.conflict(
                        "RUN_NOT_STOPPED", "run " + id + " is " + state.wire() + "; only a failed or a cancelled run is compensated",
                        "waybill run show " + id);
            }
            RunInspection.Compensation left = run.compensation();
            if (!left.anything()) {
                throw WaybillException.conflict(
                        "NOTHING_TO_COMPENSATE",
                        "no saga of run " + id + " has an effect that certainly happened, can be undone, and is not",
                        run.unresolved().isEmpty() ? "waybill run show " + id : "resolve what is unknown: waybill effects show " + run.unresolved().getFirst());
            }
            refuseBeforeQuiet(run, left.again());
            UUID transition = ids.get();
            List<BlockRow> rows = new ArrayList<>(List.of(run.undo(transition), run.clearCrashLoop(transition)));
            left.again().forEach(path -> rows.add(run.clear(path, transition)));
            OutsideMove move = move(key, transition, instance, Set.of(state), rows, null, false, Set.of(state),
                    new AuditRow(actor, "run.compensate", id.toString(), details));
            if (applied(key, move)) {
                return get(tenant, id);
            }
        }
        throw busy(id);
    }

    /** What was abandoned is sent again only when its first request can no longer arrive: by any road, not only by resend. */
    private static void refuseBeforeQuiet(RunInspection run, List<String> paths) {
        run.snapshot().receipts().stream()
                .filter(receipt -> paths.contains(receipt.path()) && run.abandoned(receipt.path(), receipt.attempt()))
                .filter(receipt -> receipt.quietAt() == null || receipt.quietAt().isAfter(run.snapshot().databaseNow()))
                .findFirst()
                .ifPresent(receipt -> {
                    throw WaybillException.conflict(
                            "EFFECT_NOT_QUIET",
                            "the request of effect " + receipt.id() + " may still arrive until " + receipt.quietAt()
                                    + "; sending again before that could do it twice",
                            "try again after " + receipt.quietAt());
                });
    }

    private boolean doneBefore(String tenant, UUID id, String action, String idempotencyKey) {
        return store.queries().audit(tenant, id.toString(), 1_000).stream()
                .filter(entry -> entry.row().action().equals(action))
                .anyMatch(entry -> Json.parse(entry.row().details()).path("idempotency_key").asString("").equals(idempotencyKey));
    }

    @Override
    public RunView pause(String tenant, UUID id, String actor) {
        // A scheduled run comes by itself when it is due: woken now, it would forget the time it was started for.
        return signal(tenant, id, actor, "run.pause", null, true, Set.of(InstanceState.WAITING));
    }

    @Override
    public RunView resume(String tenant, UUID id, String actor) {
        return signal(tenant, id, actor, "run.resume", null, false, Set.of(InstanceState.PAUSED));
    }

    @Override
    public RunView cancel(String tenant, UUID id, String actor) {
        return signal(
                tenant, id, actor, "run.cancel", true, null,
                Set.of(InstanceState.WAITING, InstanceState.SCHEDULED, InstanceState.PAUSED));
    }

    private RunView signal(
            String tenant, UUID id, String actor, String action, @Nullable Boolean cancel, @Nullable Boolean pause, Set<InstanceState> wakeFrom) {
        InstanceKey key = new InstanceKey(tenant, id);
        for (int race = 0; race < MAX_RACES; race++) {
            InstanceRecord instance = snapshot(tenant, id).instance();
            if (instance.state().terminal()) {
                throw WaybillException.conflict(
                        "RUN_ENDED", "run " + id + " has ended: it is " + instance.state().wire(), "waybill run show " + id);
            }
            boolean behind = instance.reasons() != null && instance.reasons().contains("ledger_may_be_behind");
            if (behind && action.equals("run.resume")) {
                throw WaybillException.conflict(
                        "LEDGER_MAY_BE_BEHIND",
                        "run " + id + " was paused because the store was restored or failed over and may have lost receipts",
                        "compare with the providers' records, then: waybill store accept");
            }
            // Who cancels ends a pause: what is to be undone goes on. Not so where receipts may be missing: until somebody has looked.
            Boolean paused = cancel == null ? pause : (Boolean) behind;
            OutsideMove move = move(
                    key, ids.get(), instance, Set.of(), List.of(), cancel, paused, wakeFrom, new AuditRow(actor, action, id.toString(), "{}"));
            if (applied(key, move)) {
                return get(tenant, id);
            }
        }
        throw busy(id);
    }

    private static OutsideMove move(
            InstanceKey key,
            UUID transition,
            InstanceRecord seen,
            Set<InstanceState> expected,
            List<BlockRow> rows,
            @Nullable Boolean cancel,
            @Nullable Boolean pause,
            Set<InstanceState> wakeFrom,
            AuditRow audit) {
        Event event = new Event(
                audit.action(), Json.write(Json.NODES.objectNode().put("instance_id", key.id().toString()).put("actor", audit.actor())), null);
        return new OutsideMove(
                key, transition, seen.wakeSeq(), expected, List.of(), List.of(), List.of(), rows, cancel, pause, wakeFrom, false, null,
                List.of(event), audit);
    }

    private boolean applied(InstanceKey key, OutsideMove move) {
        OutsideAnswer answer = engine.outside(move);
        if (answer instanceof OutsideAnswer.NotFound) {
            throw runNotFound(key.id());
        }
        if (answer instanceof OutsideAnswer.Applied) {
            engine.nudge(key);
            return true;
        }
        return false;
    }

    private static WaybillException busy(UUID id) {
        return WaybillException.conflict("RUN_BUSY", "run " + id + " keeps changing; try again", null);
    }

    @Override
    public RunView await(String tenant, UUID id, Duration timeout) {
        long until = engine.host().nanoTime() + timeout.toNanos();
        Semaphore changed = new Semaphore(0);
        AutoCloseable listening = engine.listen(changed::release);
        try (listening) {
            while (true) {
                RunView run = get(tenant, id);
                boolean needsSomebody = run.state() == InstanceState.PAUSED
                        || (run.state() == InstanceState.WAITING && run.nextFireAt() == null);
                long left = until - engine.host().nanoTime();
                if (run.state().terminal() || needsSomebody || left <= 0) {
                    return run;
                }
                // Another node may move it: its changes are seen by looking again.
                engine.host().acquire(changed, Math.min(left, TimeUnit.MILLISECONDS.toNanos(250)));
                changed.drainPermits();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return get(tenant, id);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("a listener is closed without fault", e);
        }
    }

    @Override
    public int acceptLedger(String actor) {
        int released = 0;
        UUID after = null;
        while (true) {
            List<InstanceRecord> page = store.queries()
                    .instances(new InstanceFilter(
                            InstanceFilter.ALL_TENANTS, Set.of(InstanceState.PAUSED), null, Map.of(), after, 500, 0));
            for (InstanceRecord one : page) {
                if (one.reasons() != null && one.reasons().contains("ledger_may_be_behind")) {
                    OutsideMove move = move(
                            // Also one that a person paused: its turn sends nothing, and says that it is this pause that is left.
                            one.key(), ids.get(), one, Set.of(InstanceState.PAUSED), List.of(), null, null, Set.of(InstanceState.PAUSED),
                            new AuditRow(actor, "store.accept", one.key().id().toString(), "{}"));
                    if (applied(one.key(), move)) {
                        released++;
                    }
                }
            }
            if (page.size() < 500) {
                return released;
            }
            after = page.getLast().key().id();
        }
    }
}

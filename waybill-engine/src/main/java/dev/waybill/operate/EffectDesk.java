package dev.waybill.operate;

import dev.waybill.engine.EngineRuntime;
import dev.waybill.engine.Events;
import dev.waybill.engine.Problems;
import dev.waybill.engine.RunInspection;
import dev.waybill.json.Json;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Problem;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Resolution.Then;
import dev.waybill.store.AuditRow;
import dev.waybill.store.BlockRow;
import dev.waybill.store.Event;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.JournalRow;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Store;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** The queue of effects nobody knows the outcome of, and the road back (semantics.md section 5). */
public final class EffectDesk implements Effects {
    private static final int MAX_RACES = 20;
    private static final int MAX_PROPOSED = 500;
    private static final Set<EffectState> BY_A_PERSON =
            Set.of(EffectState.COMMITTED, EffectState.VERIFIED, EffectState.COMPENSATED, EffectState.ABANDONED);

    private final Store store;
    private final EngineRuntime engine;
    private final RunDesk runs;
    private final Supplier<UUID> ids;
    private final FourEyes fourEyes;

    /** Where one person decides. */
    public EffectDesk(Store store, EngineRuntime engine, RunDesk runs, Supplier<UUID> ids) {
        this(store, engine, runs, ids, FourEyes.NONE);
    }

    public EffectDesk(Store store, EngineRuntime engine, RunDesk runs, Supplier<UUID> ids, FourEyes fourEyes) {
        this.store = store;
        this.engine = engine;
        this.runs = runs;
        this.ids = ids;
        this.fourEyes = fourEyes;
    }

    @Override
    public List<EffectView> list(EffectFilter filter) {
        return store.queries().effects(filter);
    }

    @Override
    public EffectCase get(String tenant, String idOrPrefix) {
        EffectView effect = find(tenant, idOrPrefix);
        InstanceKey key = effect.instance();
        ReceiptRow receipt = effect.receipt();
        List<EffectView> attempts = store.queries().effects(RunDesk.filterOf(key, 10_000)).stream()
                .filter(other -> other.receipt().path().equals(receipt.path()))
                .sorted(Comparator.comparingInt(other -> other.receipt().attempt()))
                .toList();
        RunInspection inspection = engine.inspect(key);
        InstanceSnapshot snapshot = inspection == null ? null : inspection.snapshot();
        Instant now = snapshot == null ? effect.since() : snapshot.databaseNow();
        List<EvidenceRow> evidence = evidenceOf(effect);
        List<JournalRow> journal = store.queries().journal(key, receipt.path(), receipt.attempt());
        String providerReceiptId =
                journal.stream().map(JournalRow::providerReceiptId).filter(java.util.Objects::nonNull).reduce((_, later) -> later).orElse(null);
        return new EffectCase(
                effect,
                journal,
                evidence,
                attempts,
                Proposal.of(evidence, lastN(effect), now),
                snapshot == null ? null : runs.view(snapshot.instance()),
                inspection == null || effect.state() != EffectState.UNKNOWN
                        ? null
                        : inspection.healing().stream().filter(step -> step.path().equals(receipt.path())).findFirst().orElse(null),
                inspection == null ? null : inspection.contract(receipt, providerReceiptId),
                quiet(receipt, now),
                now);
    }

    private static boolean quiet(ReceiptRow receipt, Instant now) {
        return receipt.quietAt() != null && !receipt.quietAt().isAfter(now);
    }

    private EffectView find(String tenant, String idOrPrefix) {
        String wanted = idOrPrefix.toLowerCase(Locale.ROOT).trim();
        if (wanted.length() == 36) {
            UUID id;
            try {
                id = UUID.fromString(wanted);
            } catch (IllegalArgumentException e) {
                throw notFound(idOrPrefix);
            }
            return store.queries().effect(tenant, id).orElseThrow(() -> notFound(idOrPrefix));
        }
        if (!wanted.matches("[0-9a-f-]{4,35}")) {
            throw notFound(idOrPrefix);
        }
        EffectFilter open = new EffectFilter(
                tenant, true, Set.of(), null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, 10_000);
        List<EffectView> matches = store.queries().effects(open).stream()
                .filter(effect -> effect.receipt().id().toString().startsWith(wanted))
                .toList();
        if (matches.isEmpty()) {
            throw notFound(idOrPrefix);
        }
        if (matches.size() > 1) {
            throw WaybillException.conflict(
                    "EFFECT_AMBIGUOUS_PREFIX", matches.size() + " open effects begin with " + wanted + "; give more of the id",
                    "waybill effects list");
        }
        return matches.getFirst();
    }

    private static WaybillException notFound(String id) {
        return new WaybillException(404, "EFFECT_NOT_FOUND", "there is no effect " + id, null, "waybill effects list");
    }

    // --- resolve ---------------------------------------------------------------------------------------------------------------

    @Override
    public EffectCase resolve(String tenant, UUID receiptId, Resolution resolution) {
        check(resolution);
        for (int race = 0; race < MAX_RACES; race++) {
            EffectView effect = store.queries().effect(tenant, receiptId).orElseThrow(() -> notFound(receiptId.toString()));
            RunInspection run = engine.inspect(effect.instance());
            if (run == null) {
                throw WaybillException.conflict("RUN_GONE", "the run of effect " + receiptId + " is gone", null);
            }
            if (effect.state() != EffectState.UNKNOWN && decidedBefore(effect, resolution)) {
                return get(tenant, receiptId.toString());
            }
            OutsideMove move = decide(effect, run, resolution, null);
            if (fourEyes.requires(effect)) {
                move = propose(effect, run, resolution);
                if (move == null) {
                    return get(tenant, receiptId.toString());
                }
            }
            OutsideAnswer answer = engine.outside(move);
            if (answer instanceof OutsideAnswer.Applied) {
                engine.nudge(effect.instance());
                return get(tenant, receiptId.toString());
            }
            // Somebody moved the run or the receipt: read again; a receipt that is no longer unknown is refused above.
        }
        throw WaybillException.conflict("RUN_BUSY", "the run of effect " + receiptId + " keeps changing; try again", null);
    }

    @Override
    public EffectCase verify(String tenant, UUID receiptId, String actor) {
        for (int race = 0; race < MAX_RACES; race++) {
            EffectView effect = store.queries().effect(tenant, receiptId).orElseThrow(() -> notFound(receiptId.toString()));
            if (effect.state() != EffectState.UNKNOWN) {
                throw notUnknown(effect);
            }
            RunInspection run = engine.inspect(effect.instance());
            if (run != null && run.inFlight(effect.receipt().path())) {
                throw inFlight(effect);
            }
            if (engine.verify(effect.instance(), receiptId, "operator:" + actor)) {
                return get(tenant, receiptId.toString());
            }
            // The turn recorded a verdict of its own meanwhile, or something else moved: look again.
        }
        throw WaybillException.conflict("RUN_BUSY", "the run of effect " + receiptId + " keeps changing; try again", null);
    }

    private static WaybillException notUnknown(EffectView effect) {
        return WaybillException.conflict(
                "EFFECT_NOT_UNKNOWN",
                "effect " + effect.receipt().id() + " at " + effect.receipt().path() + " is " + effect.state().wire()
                        + ", not unknown; nothing was written",
                "waybill effects show " + effect.receipt().id());
    }

    private static WaybillException inFlight(EffectView effect) {
        return WaybillException.conflict(
                "EFFECT_IN_FLIGHT",
                "the request of effect " + effect.receipt().id() + " at " + effect.receipt().path()
                        + " is being sent again under its key: its answer speaks for both",
                "waybill effects show " + effect.receipt().id());
    }

    /** The same key with the same decision: its answer was lost, not its effect. */
    private boolean decidedBefore(EffectView effect, Resolution r) {
        return r.idempotencyKey() != null
                && store.queries().evidence(effect.instance(), effect.receipt().path(), effect.receipt().attempt()).stream()
                        .filter(row -> row.kind().equals("resolution"))
                        .map(row -> Json.parse(row.body()))
                        .anyMatch(body -> body.path("idempotency_key").asString("").equals(r.idempotencyKey())
                                && body.path("state").asString("").equals(r.state().wire()));
    }

    private static void check(Resolution r) {
        if (r.idempotencyKey() != null) {
            RunDesk.checkedKey(r.idempotencyKey());
        }
        if (!BY_A_PERSON.contains(r.state())) {
            throw WaybillException.badRequest(
                    "RESOLUTION_INVALID", "a person resolves to committed, verified, compensated or abandoned", "/state");
        }
        EvidenceRules.checkedNote(r.note(), switch (r.state()) {
            case ABANDONED -> "say what was searched and not found";
            case COMPENSATED -> "say what undid it";
            default -> "say what you looked at";
        });
        if (r.link() != null) {
            EvidenceRules.checkedLink(r.link(), "/evidence/link");
        }
        Then then = then(r);
        boolean fits =
                switch (r.state()) {
                    case COMMITTED, VERIFIED -> then == Then.CONTINUE || then == Then.NONE;
                    case ABANDONED -> then != Then.CONTINUE;
                    default -> then == Then.NONE || then == Then.FAIL;
                };
        if (!fits) {
            throw new WaybillException(
                    422, "RESOLUTION_INVALID", r.state().wire() + " does not go with then=" + then.name().toLowerCase(Locale.ROOT), "/then",
                    "committed and verified: continue or none; abandoned: resend, fail or none; compensated: fail or none");
        }
    }

    private static Then then(Resolution r) {
        if (r.then() != null) {
            return r.then();
        }
        return r.state() == EffectState.COMMITTED || r.state() == EffectState.VERIFIED ? Then.CONTINUE : Then.NONE;
    }

    /** Committed needs the provider's own id, unless a file on the case proves it (semantics.md section 5, Resolve). */
    private void requireProof(EffectView effect, Resolution r) {
        boolean named = r.providerReceiptId() != null && !r.providerReceiptId().isBlank();
        if (r.state() == EffectState.COMMITTED && !named && r.file() == null
                && evidenceOf(effect).stream().noneMatch(row -> row.kind().equals("file"))) {
            throw new WaybillException(
                    422, "EVIDENCE_REQUIRED", "committed needs the provider's own id of it, or a file that proves it", "/provider_receipt_id",
                    "add --provider-id ID or --evidence-file FILE");
        }
    }

    /** @param approver the actor who approves what {@code r} proposed, with the proposal; null = decided by one person */
    private OutsideMove decide(EffectView effect, RunInspection run, Resolution r, @Nullable Approval approver) {
        requireProof(effect, r);
        ReceiptRow receipt = effect.receipt();
        InstanceSnapshot snapshot = run.snapshot();
        boolean compensates = r.state() == EffectState.COMPENSATED && effect.state().applied();
        if (effect.state() != EffectState.UNKNOWN && !compensates) {
            throw notUnknown(effect);
        }
        if (!compensates && run.inFlight(receipt.path())) {
            throw inFlight(effect);
        }
        Then then = then(r);
        InstanceState state = snapshot.instance().state();
        if (then == Then.RESEND) {
            ReceiptRow unquiet = chain(effect, run).stream().filter(one -> !quiet(one, snapshot.databaseNow())).findFirst().orElse(null);
            if (unquiet != null) {
                throw WaybillException.conflict(
                        "EFFECT_NOT_QUIET",
                        "the request of effect " + unquiet.id() + " may still arrive until " + unquiet.quietAt()
                                + "; sending again before that could do it twice",
                        "try again after " + unquiet.quietAt());
            }
        }
        boolean ended = state == InstanceState.COMPLETED || state == InstanceState.CANCELLED;
        Set<InstanceState> wakeFrom = wakes(then, r, state, ended);
        UUID transition = ids.get();
        JournalRow last = effect.last();
        int n = last == null ? 1 : last.n() + 1;
        String output = output(r, last);
        Problem abandoned = Problem.of("EFFECT_ABANDONED", "a person wrote effect " + receipt.id() + " off: " + r.note());
        boolean fails = then == Then.FAIL;
        JournalRow row = new JournalRow(
                receipt.path(), receipt.attempt(), n, effect.state(), r.state(), "operator:" + r.actor(), null, transition, null, "resolved",
                r.note(), r.providerReceiptId() != null ? r.providerReceiptId() : (last == null ? null : last.providerReceiptId()),
                then == Then.RESEND ? 0L : null, true, null, output, output == null ? OutputState.NONE : OutputState.SAVED,
                fails ? Json.write(Problems.json(abandoned)) : null, null);
        List<JournalRow> journal = new ArrayList<>(List.of(row));
        for (ReceiptRow member : compensates ? List.<ReceiptRow>of() : chain(effect, run)) {
            if (!member.id().equals(receipt.id())) {
                journal.add(alike(row, member, run, then == Then.RESEND));
            }
        }
        List<BlockRow> rows = fails
                ? List.of(new BlockRow(
                        receipt.path(), run.nextRow(receipt.path()), BlockRow.Kind.ERROR, Json.write(Problems.json(abandoned)), null, transition,
                        null))
                : List.of();
        List<EvidenceRow> evidence = new ArrayList<>();
        if (r.file() != null) {
            evidence.add(new EvidenceRow(
                    receipt.path(), receipt.attempt(), "file", "operator:" + r.actor(), Json.write(r.file().json()), r.file().content(), null));
            EvidenceRules.requireRoom(evidenceOf(effect), evidence);
        }
        evidence.add(new EvidenceRow(
                receipt.path(), receipt.attempt(), "resolution", "operator:" + r.actor(), Json.write(EvidenceRules.body(r, then)), null, null));
        if (approver != null) {
            evidence.add(decision(effect, Proposal.APPROVED, approver.proposal(), "", approver.actor()));
        }
        Event event = Events.effect("effect.resolved", effect.instance(), receipt, r.state().wire());
        return new OutsideMove(
                effect.instance(), transition, snapshot.instance().wakeSeq(), Set.of(), List.of(), journal, evidence, rows, null,
                null, wakeFrom, false, null, List.of(event),
                approver == null
                        ? new AuditRow(r.actor(), "effect.resolve", receipt.id().toString(), Json.write(EvidenceRules.body(r, then)))
                        : new AuditRow(
                                approver.actor(), "effect.approve", receipt.id().toString(),
                                Json.write(EvidenceRules.body(r, then).put("proposed_by", r.actor()).put("proposal_id", approver.proposal().toString()))),
                row.to() == EffectState.COMPENSATED || row.to() == EffectState.ABANDONED && then != Then.RESEND
                        ? Set.of(receipt.path())
                        : Set.of());
    }

    /** Receipts that were sent one after the other under one key while the outcome was unknown: one effect, decided at once. */
    private static List<ReceiptRow> chain(EffectView effect, RunInspection run) {
        List<UUID> members = run.chain(effect.receipt().path());
        return run.snapshot().receipts().stream().filter(receipt -> members.contains(receipt.id())).toList();
    }

    /** What the decision about one receipt is for another of its chain: the answered one is committed, the others verified. */
    private static JournalRow alike(JournalRow row, ReceiptRow member, RunInspection run, boolean resend) {
        EffectState to = row.to() == EffectState.COMMITTED ? EffectState.VERIFIED : row.to();
        int n = 1 + (int) run.snapshot().journal().stream()
                .filter(one -> one.path().equals(member.path()) && one.attempt() == member.attempt())
                .count();
        return new JournalRow(
                member.path(), member.attempt(), n, EffectState.UNKNOWN, to, row.actor(), null, row.transitionId(), null, row.reason(),
                row.message(), row.providerReceiptId(), resend ? 0L : null, true, null, null, OutputState.NONE, row.problem(), null);
    }

    /** Continue moves only a waiting run by itself; a failed one must be asked for; on an ended one only the ledger moves. */
    private static Set<InstanceState> wakes(Then then, Resolution r, InstanceState state, boolean ended) {
        if (ended || state == InstanceState.PAUSED) {
            return Set.of();
        }
        return switch (then) {
            case CONTINUE, RESEND -> r.then() != null && state == InstanceState.FAILED
                    ? Set.of(InstanceState.FAILED)
                    : Set.of(InstanceState.WAITING);
            // The reasons of a waiting run change even when only the ledger moves.
            case FAIL, NONE -> Set.of(InstanceState.WAITING);
        };
    }

    private static @Nullable String output(Resolution r, @Nullable JournalRow last) {
        if (r.state() == EffectState.COMPENSATED) {
            // Undone afterwards: the step stays done, and what it said stays said.
            return last == null ? null : last.output();
        }
        if (r.state() == EffectState.ABANDONED) {
            return null;
        }
        if (r.output() != null) {
            return Json.write(r.output());
        }
        if (last != null && last.output() != null) {
            return last.output();
        }
        ObjectNode plain = Json.NODES.objectNode();
        plain.put("provider_receipt_id", r.providerReceiptId());
        plain.put("resolved", true);
        return Json.write(plain);
    }

    // --- four eyes -------------------------------------------------------------------------------------------------------------

    private record Approval(UUID proposal, String actor) {}

    private static int lastN(EffectView effect) {
        return effect.last() == null ? 0 : effect.last().n();
    }

    private List<Proposal> proposals(EffectView effect, Instant now) {
        return Proposal.of(evidenceOf(effect), lastN(effect), now);
    }

    /** The decision as it could be carried out now, kept for somebody else; null when the same one waits already. */
    private @Nullable OutsideMove propose(EffectView effect, RunInspection run, Resolution r) {
        ReceiptRow receipt = effect.receipt();
        InstanceSnapshot snapshot = run.snapshot();
        Proposal waiting = proposals(effect, snapshot.databaseNow()).stream().filter(Proposal::pending).findFirst().orElse(null);
        if (waiting != null) {
            if (r.idempotencyKey() != null && r.idempotencyKey().equals(waiting.resolution().idempotencyKey())
                    && waiting.principal().equals(FourEyes.principal(r.actor()))) {
                return null;
            }
            throw WaybillException.conflict(
                    "PROPOSAL_PENDING", "a decision of " + waiting.resolution().actor() + " waits for approval already",
                    "waybill effects approve " + receipt.id() + ", or reject");
        }
        List<EvidenceRow> rows = new ArrayList<>();
        if (r.file() != null) {
            rows.add(new EvidenceRow(
                    receipt.path(), receipt.attempt(), "file", "operator:" + r.actor(), Json.write(r.file().json()), r.file().content(), null));
        }
        String body = Json.write(Proposal.body(ids.get(), r, lastN(effect), snapshot.databaseNow().plus(fourEyes.expiry())));
        rows.add(new EvidenceRow(receipt.path(), receipt.attempt(), Proposal.KIND, "operator:" + r.actor(), body, null, null));
        return aside(effect, snapshot, rows, "effect.proposed", r.state().wire(), new AuditRow(r.actor(), "effect.propose", receipt.id().toString(), body));
    }

    /** Adds to the case and moves nothing. */
    private OutsideMove aside(
            EffectView effect, InstanceSnapshot snapshot, List<EvidenceRow> rows, String event, String reason, AuditRow audit) {
        return new OutsideMove(
                effect.instance(), ids.get(), snapshot.instance().wakeSeq(), Set.of(), List.of(), List.of(), rows, List.of(), null, null,
                Set.of(), false, null, List.of(Events.effect(event, effect.instance(), effect.receipt(), reason)), audit);
    }

    private static EvidenceRow decision(EffectView effect, String kind, UUID proposal, String note, String actor) {
        ObjectNode body = Json.NODES.objectNode().put("proposal_id", proposal.toString()).put("principal", FourEyes.principal(actor));
        if (!note.isEmpty()) {
            body.put("note", note);
        }
        return new EvidenceRow(
                effect.receipt().path(), effect.receipt().attempt(), kind, "operator:" + actor, Json.write(body), null, null);
    }

    @Override
    public EffectCase approve(String tenant, UUID receiptId, UUID proposalId, String actor) {
        return close(tenant, receiptId, proposalId, Proposal.State.APPROVED, actor, (effect, run, proposal) -> {
            if (proposal.principal().equals(FourEyes.principal(actor))) {
                throw new WaybillException(
                        403, "FOUR_EYES_SAME_PRINCIPAL", "who proposed a decision cannot approve it", "/proposal_id",
                        "let somebody with another API key approve it");
            }
            return decide(effect, run, proposal.resolution(), new Approval(proposalId, actor));
        });
    }

    @Override
    public EffectCase reject(String tenant, UUID receiptId, UUID proposalId, String note, String actor) {
        EvidenceRules.checkedNote(note, "say why it is rejected");
        return close(tenant, receiptId, proposalId, Proposal.State.REJECTED, actor, (effect, run, _) -> aside(
                effect, run.snapshot(), List.of(decision(effect, Proposal.REJECTED, proposalId, note, actor)), "effect.rejected", note,
                new AuditRow(actor, "effect.reject", receiptId.toString(), Json.write(
                        Json.NODES.objectNode().put("proposal_id", proposalId.toString()).put("note", note)))));
    }

    @FunctionalInterface
    private interface Closing {
        OutsideMove move(EffectView effect, RunInspection run, Proposal proposal);
    }

    private EffectCase close(String tenant, UUID receiptId, UUID proposalId, Proposal.State to, String actor, Closing closing) {
        for (int race = 0; race < MAX_RACES; race++) {
            EffectView effect = store.queries().effect(tenant, receiptId).orElseThrow(() -> notFound(receiptId.toString()));
            RunInspection run = engine.inspect(effect.instance());
            if (run == null) {
                throw WaybillException.conflict("RUN_GONE", "the run of effect " + receiptId + " is gone", null);
            }
            Proposal proposal = proposals(effect, run.snapshot().databaseNow()).stream()
                    .filter(one -> one.id().equals(proposalId))
                    .findFirst()
                    .orElseThrow(() -> new WaybillException(
                            404, "PROPOSAL_NOT_FOUND", "effect " + receiptId + " has no such proposal", "/proposal_id",
                            "waybill effects show " + receiptId));
            if (proposal.state() == to && FourEyes.principal(actor).equals(proposal.decidedBy())) {
                return get(tenant, receiptId.toString()); // Its answer was lost, not its effect.
            }
            if (!proposal.pending()) {
                throw WaybillException.conflict(
                        "PROPOSAL_CLOSED", "the proposal is " + proposal.state().wire() + "; nothing was written",
                        "waybill effects show " + receiptId);
            }
            if (engine.outside(closing.move(effect, run, proposal)) instanceof OutsideAnswer.Applied) {
                engine.nudge(effect.instance());
                return get(tenant, receiptId.toString());
            }
        }
        throw WaybillException.conflict("RUN_BUSY", "the run of effect " + receiptId + " keeps changing; try again", null);
    }

    @Override
    public List<EffectView> proposed(String tenant) {
        return store.queries().proposed(tenant, MAX_PROPOSED).stream()
                .filter(effect -> {
                    InstanceSnapshot snapshot = store.load(effect.instance()).orElse(null);
                    return snapshot != null && proposals(effect, snapshot.databaseNow()).stream().anyMatch(Proposal::pending);
                })
                .toList();
    }

    // --- evidence --------------------------------------------------------------------------------------------------------------

    @Override
    public EffectCase attach(String tenant, UUID receiptId, List<Attachment> attachments, String actor) {
        for (int race = 0; race < MAX_RACES; race++) {
            EffectView effect = store.queries().effect(tenant, receiptId).orElseThrow(() -> notFound(receiptId.toString()));
            InstanceSnapshot snapshot = store.load(effect.instance())
                    .orElseThrow(() -> WaybillException.conflict("RUN_GONE", "the run of effect " + receiptId + " is gone", null));
            List<EvidenceRow> known = evidenceOf(effect);
            List<EvidenceRow> rows = attachments.stream()
                    .map(one -> new EvidenceRow(
                            effect.receipt().path(), effect.receipt().attempt(), one.kind(), "operator:" + actor, Json.write(one.body()),
                            one.bytes(), null))
                    .filter(row -> known.stream().noneMatch(old -> old.kind().equals(row.kind()) && old.body().equals(row.body())))
                    .toList();
            if (rows.isEmpty()) {
                return get(tenant, receiptId.toString());
            }
            EvidenceRules.requireRoom(known, rows);
            List<Event> events = attachments.stream()
                    .filter(Attachment::contradicts)
                    .map(one -> Events.effect("effect.contradiction", effect.instance(), effect.receipt(), one.kind()))
                    .toList();
            ArrayNode bodies = Json.NODES.arrayNode();
            rows.forEach(row -> bodies.add(Json.NODES.objectNode().put("kind", row.kind()).set("body", Json.parse(row.body()))));
            OutsideMove move = new OutsideMove(
                    effect.instance(), ids.get(), snapshot.instance().wakeSeq(), Set.of(), List.of(), List.of(), rows, List.of(), null, null,
                    Set.of(), false, null, events,
                    new AuditRow(actor, "effect.attach", receiptId.toString(), Json.write(Json.NODES.objectNode().set("evidence", bodies))));
            if (engine.outside(move) instanceof OutsideAnswer.Applied) {
                return get(tenant, receiptId.toString());
            }
        }
        throw WaybillException.conflict("RUN_BUSY", "the run of effect " + receiptId + " keeps changing; try again", null);
    }

    private List<EvidenceRow> evidenceOf(EffectView effect) {
        return store.queries().evidence(effect.instance(), effect.receipt().path(), effect.receipt().attempt());
    }

    // --- a lost output ---------------------------------------------------------------------------------------------------------

    @Override
    public EffectCase supplyOutput(String tenant, UUID receiptId, JsonNode output, String note, @Nullable String link, String actor) {
        EvidenceRules.checkedNote(note, "say where the output comes from");
        if (link != null) {
            EvidenceRules.checkedLink(link, "/evidence/link");
        }
        for (int race = 0; race < MAX_RACES; race++) {
            EffectView effect = store.queries().effect(tenant, receiptId).orElseThrow(() -> notFound(receiptId.toString()));
            JournalRow last = effect.last();
            if (last == null || last.outputState() != OutputState.LOST) {
                throw WaybillException.conflict(
                        "OUTPUT_NOT_LOST", "effect " + receiptId + " does not wait for a lost output", "waybill effects show " + receiptId);
            }
            InstanceSnapshot snapshot = store.load(effect.instance()).orElseThrow(() -> notFound(receiptId.toString()));
            UUID transition = ids.get();
            // The state does not move: committed stays committed, with the output it lacked.
            JournalRow row = new JournalRow(
                    last.path(), last.attempt(), last.n() + 1, last.to(), last.to(), "operator:" + actor, null, transition, null,
                    "output_supplied", note, last.providerReceiptId(), null, true, null, Json.write(output), OutputState.SAVED, null, null);
            ObjectNode body = Json.NODES.objectNode().put("note", note);
            if (link != null) {
                body.put("link", link);
            }
            OutsideMove move = new OutsideMove(
                    effect.instance(), transition, snapshot.instance().wakeSeq(), Set.of(), List.of(), List.of(row),
                    List.of(new EvidenceRow(last.path(), last.attempt(), "output", "operator:" + actor, Json.write(body), null, null)), List.of(),
                    null, null, Set.of(InstanceState.WAITING), false, null,
                    List.of(Events.effect("effect.output_supplied", effect.instance(), effect.receipt(), "output")),
                    new AuditRow(actor, "effect.output", receiptId.toString(), Json.write(body)));
            if (engine.outside(move) instanceof OutsideAnswer.Applied) {
                engine.nudge(effect.instance());
                return get(tenant, receiptId.toString());
            }
        }
        throw WaybillException.conflict("RUN_BUSY", "the run of effect " + receiptId + " keeps changing; try again", null);
    }
}

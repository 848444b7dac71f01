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
import dev.waybill.store.DeskStore.FoundEvidence;
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
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The queue of effects nobody knows the outcome of, and the road back (semantics.md section 5). */
public final class EffectDesk implements Effects {
    /** Rows that people added to one receipt. */
    private static final int MAX_EVIDENCE = 100;
    private static final int MAX_RACES = 20;
    private static final Set<EffectState> BY_A_PERSON =
            Set.of(EffectState.COMMITTED, EffectState.VERIFIED, EffectState.COMPENSATED, EffectState.ABANDONED);

    private final Store store;
    private final EngineRuntime engine;
    private final RunDesk runs;
    private final Supplier<UUID> ids;
    private final FourEyes fourEyes;

    /** A desk where one person's word is enough. */
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
        List<JournalRow> journal = store.queries().journal(key, receipt.path(), receipt.attempt());
        String providerReceiptId =
                journal.stream().map(JournalRow::providerReceiptId).filter(java.util.Objects::nonNull).reduce((_, later) -> later).orElse(null);
        return new EffectCase(
                effect,
                journal,
                store.queries().evidence(key, receipt.path(), receipt.attempt()),
                attempts,
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
            FourEyes.Rule rule = fourEyes.ruleFor(effect).orElse(null);
            if (rule != null) {
                Optional<OutsideMove> proposal = propose(effect, run, resolution, rule);
                if (proposal.isEmpty()) {
                    return get(tenant, receiptId.toString());
                }
                move = proposal.get();
            }
            OutsideAnswer answer = engine.outside(move);
            if (answer instanceof OutsideAnswer.Applied) {
                engine.nudge(effect.instance());
                return get(tenant, receiptId.toString());
            }
            // Somebody moved the run or the receipt: read again; a receipt that is no longer unknown is refused above.
        }
        throw busy(receiptId);
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
            if (engine.verify(effect.instance(), receiptId, person(actor))) {
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

    /** The API names its callers so already. */
    private static String person(String actor) {
        return actor.startsWith("operator:") ? actor : "operator:" + actor;
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
        ProofRules.check(r);
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

    private OutsideMove decide(EffectView effect, RunInspection run, Resolution r, @Nullable EvidenceRow approval) {
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
                receipt.path(), receipt.attempt(), n, effect.state(), r.state(), person(r.actor()), null, transition, null, "resolved",
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
        List<EvidenceRow> evidence = new ArrayList<>(List.of(new EvidenceRow(
                receipt.path(), receipt.attempt(), "resolution", person(r.actor()), Json.write(evidence(r, then)), null, null)));
        if (approval != null) {
            evidence.add(approval);
        } else if (r.file() != null) {
            evidence.add(new Evidence(null, null, r.file()).row(receipt, person(r.actor()), null));
        }
        Event event = Events.effect("effect.resolved", effect.instance(), receipt, r.state().wire());
        return new OutsideMove(
                effect.instance(), transition, snapshot.instance().wakeSeq(), Set.of(), List.of(), journal, evidence, rows, null,
                null, wakeFrom, false, null, List.of(event),
                new AuditRow(approval == null ? r.actor() : approval.actor(), "effect.resolve", receipt.id().toString(), Json.write(evidence(r, then))),
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

    private static ObjectNode evidence(Resolution r, Then then) {
        ObjectNode evidence = Json.NODES.objectNode();
        evidence.put("state", r.state().wire());
        evidence.put("note", r.note());
        if (r.link() != null) {
            evidence.put("link", r.link());
        }
        if (r.providerReceiptId() != null) {
            evidence.put("provider_receipt_id", r.providerReceiptId());
        }
        evidence.put("then", then.name().toLowerCase(Locale.ROOT));
        if (r.file() != null) {
            evidence.set("file", r.file().description());
        }
        if (r.idempotencyKey() != null) {
            evidence.put("idempotency_key", r.idempotencyKey());
        }
        return evidence;
    }

    // --- two pairs of eyes -----------------------------------------------------------------------------------------------------

    /**
     * The resolution as evidence, for another principal to approve; nothing else moves.
     *
     * @return empty when the same request with the same key waits already
     */
    private Optional<OutsideMove> propose(EffectView effect, RunInspection run, Resolution r, FourEyes.Rule rule) {
        ReceiptRow receipt = effect.receipt();
        Instant now = run.snapshot().databaseNow();
        Proposal waiting = Proposal.pending(effect, evidenceOf(effect), now).orElse(null);
        if (waiting != null) {
            if (r.idempotencyKey() != null && r.idempotencyKey().equals(waiting.body().path("idempotency_key").asString(""))) {
                return Optional.empty();
            }
            throw WaybillException.conflict(
                    "PROPOSAL_PENDING",
                    "effect " + receipt.id() + " has a proposal by " + waiting.actor() + " that waits until " + waiting.expiresAt(),
                    "waybill effects approve " + receipt.id() + "      (or reject it first)");
        }
        UUID transition = ids.get();
        UUID id = ids.get();
        ObjectNode body = Proposal.body(
                id, r, evidence(r, then(r)), effect, run.chain(receipt.path()), rule.name(), now.plus(fourEyes.expiry()));
        List<EvidenceRow> rows = new ArrayList<>();
        if (r.file() != null) {
            rows.add(new Evidence(null, null, r.file()).row(receipt, person(r.actor()), null));
        }
        rows.add(new EvidenceRow(receipt.path(), receipt.attempt(), Proposal.KIND, person(r.actor()), Json.write(body), null, null));
        return Optional.of(note(
                effect, run.snapshot().instance().wakeSeq(), transition, rows,
                List.of(Events.effect("effect.proposed", effect.instance(), receipt, r.state().wire())),
                new AuditRow(r.actor(), "effect.propose", receipt.id().toString(), Json.write(body))));
    }

    @Override
    public EffectCase approve(String tenant, UUID receiptId, UUID proposalId, @Nullable String note, String actor) {
        return end(tenant, receiptId, proposalId, Proposal.APPROVAL, note, actor);
    }

    @Override
    public EffectCase reject(String tenant, UUID receiptId, UUID proposalId, String note, String actor) {
        ProofRules.note(note, "say why");
        return end(tenant, receiptId, proposalId, Proposal.REJECTION, note, actor);
    }

    private EffectCase end(String tenant, UUID receiptId, UUID proposalId, String how, @Nullable String note, String actor) {
        if (note != null) {
            ProofRules.note(note, "say something, or nothing at all");
        }
        for (int race = 0; race < MAX_RACES; race++) {
            EffectView effect = store.queries().effect(tenant, receiptId).orElseThrow(() -> notFound(receiptId.toString()));
            RunInspection run = engine.inspect(effect.instance());
            if (run == null) {
                throw WaybillException.conflict("RUN_GONE", "the run of effect " + receiptId + " is gone", null);
            }
            ReceiptRow receipt = effect.receipt();
            List<EvidenceRow> evidence = evidenceOf(effect);
            Proposal proposal = Proposal.of(effect, evidence, run.snapshot().databaseNow()).stream()
                    .filter(one -> one.id().equals(proposalId))
                    .findFirst()
                    .orElseThrow(() -> WaybillException.notFound(
                            "PROPOSAL_NOT_FOUND", "effect " + receiptId + " has no proposal " + proposalId));
            boolean approves = how.equals(Proposal.APPROVAL);
            refuseUnlessPending(proposal, approves && !proposal.sameChain(run.chain(receipt.path())));
            if (approves && Proposal.principal(actor).equals(proposal.body().path("principal").asString())) {
                throw new WaybillException(
                        403, "FOUR_EYES_SAME_PRINCIPAL",
                        "the proposal is by " + proposal.actor() + ", the same principal: another one has to approve it", null,
                        "approve it with another person's API key");
            }
            ObjectNode body = Json.NODES.objectNode().put("proposal_id", proposalId.toString()).put("note", note);
            body.put("proposed_by", proposal.actor());
            EvidenceRow row = new EvidenceRow(receipt.path(), receipt.attempt(), how, person(actor), Json.write(body), null, null);
            OutsideMove move = approves
                    ? decide(effect, run, proposal.resolution(evidence), row)
                    : note(
                            effect, run.snapshot().instance().wakeSeq(), ids.get(), List.of(row),
                            List.of(Events.effect("effect.proposal_rejected", effect.instance(), receipt, "rejected")),
                            new AuditRow(actor, "effect.reject", receiptId.toString(), Json.write(body)));
            if (engine.outside(move) instanceof OutsideAnswer.Applied) {
                engine.nudge(effect.instance());
                return get(tenant, receiptId.toString());
            }
        }
        throw busy(receiptId);
    }

    private static void refuseUnlessPending(Proposal proposal, boolean chainMoved) {
        String next = "waybill effects show ID";
        if (proposal.status() == Proposal.Status.VOID || chainMoved && proposal.status() == Proposal.Status.PENDING) {
            throw WaybillException.conflict(
                    "PROPOSAL_VOID", "the receipt has moved since this was proposed: decide anew from what is known now", next);
        }
        if (proposal.status() == Proposal.Status.EXPIRED) {
            throw WaybillException.conflict("PROPOSAL_EXPIRED", "the proposal could be approved until " + proposal.expiresAt(), next);
        }
        if (proposal.status() != Proposal.Status.PENDING) {
            throw WaybillException.conflict("PROPOSAL_ENDED", "the proposal is " + proposal.status().wire() + " already", next);
        }
    }

    @Override
    public List<FoundEvidence> recentProposals(String tenant, int limit) {
        return store.desk().evidenceOfKind(tenant, Proposal.KIND, limit);
    }

    @Override
    public Statement.Report importStatement(String tenant, Statement.Request request, String actor) {
        StatementImport.check(request);
        return new StatementImport(this, tenant, request, actor).run();
    }

    // --- evidence --------------------------------------------------------------------------------------------------------------

    @Override
    public EffectCase attach(String tenant, UUID receiptId, Evidence added, String actor, @Nullable String idempotencyKey) {
        ProofRules.check(added);
        if (idempotencyKey != null) {
            RunDesk.checkedKey(idempotencyKey);
        }
        for (int race = 0; race < MAX_RACES; race++) {
            EffectView effect = store.queries().effect(tenant, receiptId).orElseThrow(() -> notFound(receiptId.toString()));
            InstanceSnapshot snapshot = store.load(effect.instance()).orElseThrow(() -> notFound(receiptId.toString()));
            List<EvidenceRow> known = evidenceOf(effect);
            if (idempotencyKey != null
                    && known.stream().anyMatch(row -> Json.parse(row.body()).path("idempotency_key").asString("").equals(idempotencyKey))) {
                return get(tenant, receiptId.toString());
            }
            if (known.stream().filter(row -> row.actor().startsWith("operator:")).count() >= MAX_EVIDENCE) {
                throw WaybillException.conflict(
                        "EVIDENCE_FULL", "people added " + MAX_EVIDENCE + " items to this case already", "link to where the rest is kept");
            }
            ReceiptRow receipt = effect.receipt();
            EvidenceRow row = added.row(receipt, person(actor), idempotencyKey);
            OutsideMove move = note(
                    effect, snapshot.instance().wakeSeq(), ids.get(), List.of(row), List.of(),
                    new AuditRow(actor, "effect.evidence", receiptId.toString(), row.body()));
            if (engine.outside(move) instanceof OutsideAnswer.Applied) {
                return get(tenant, receiptId.toString());
            }
        }
        throw busy(receiptId);
    }

    private List<EvidenceRow> evidenceOf(EffectView effect) {
        return store.queries().evidence(effect.instance(), effect.receipt().path(), effect.receipt().attempt());
    }

    /** A move that only writes down. */
    private static OutsideMove note(
            EffectView effect, long wakeSeq, UUID transition, List<EvidenceRow> rows, List<Event> events, AuditRow audit) {
        return new OutsideMove(
                effect.instance(), transition, wakeSeq, Set.of(), List.of(), List.of(), rows, List.of(), null, null, Set.of(), false, null,
                events, audit);
    }

    private static WaybillException busy(UUID receiptId) {
        return WaybillException.conflict("RUN_BUSY", "the run of effect " + receiptId + " keeps changing; try again", null);
    }

    // --- a lost output ---------------------------------------------------------------------------------------------------------

    @Override
    public EffectCase supplyOutput(String tenant, UUID receiptId, JsonNode output, String note, @Nullable String link, String actor) {
        ProofRules.note(note, "say where the output comes from");
        ProofRules.link(link, "/evidence/link");
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
                    last.path(), last.attempt(), last.n() + 1, last.to(), last.to(), person(actor), null, transition, null,
                    "output_supplied", note, last.providerReceiptId(), null, true, null, Json.write(output), OutputState.SAVED, null, null);
            ObjectNode body = Json.NODES.objectNode().put("note", note);
            if (link != null) {
                body.put("link", link);
            }
            OutsideMove move = new OutsideMove(
                    effect.instance(), transition, snapshot.instance().wakeSeq(), Set.of(), List.of(), List.of(row),
                    List.of(new EvidenceRow(last.path(), last.attempt(), "output", person(actor), Json.write(body), null, null)), List.of(),
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

package dev.waybill.operate;

import dev.waybill.json.Json;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Effects.Attachment;
import dev.waybill.operate.Resolution.Then;
import dev.waybill.operate.Statement.Line;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * Holds a provider's statement against the receipts of one destination, and decides by it what nobody knew. What is ambiguous is never
 * decided; each decision goes down the one road of {@link Effects#resolve}, in a transaction of its own, so that a statement that is
 * imported twice, or half, does no harm.
 */
public final class StatementImport {
    static final int MAX_RECEIPTS = 100_000;
    private static final int PAGE = 500;
    private static final Duration AROUND = Duration.ofDays(1);

    /** Which of our names the statement's reference is. */
    public sealed interface Match {
        record Key() implements Match {}

        record ProviderId() implements Match {}

        record Label(String name) implements Match {}

        /** @throws WaybillException 422 STATEMENT_INVALID for anything but {@code key}, {@code provider-id} and {@code label:NAME} */
        static Match parse(String text) {
            if (text.equals("key")) {
                return new Key();
            }
            if (text.equals("provider-id")) {
                return new ProviderId();
            }
            if (text.startsWith("label:") && text.length() > 6) {
                return new Label(text.substring(6));
            }
            throw Statement.invalid("match must be key, provider-id or label:NAME", "/match");
        }
    }

    /** The statement holds everything that the provider did from {@code from} until before {@code to}. */
    public record Covers(Instant from, Instant to) {}

    /**
     * @param destination beginning of the receipts' destination, with or without the handler's name
     * @param apply       false: only say what would be done
     * @param missing     what to do about unknown effects that a covering statement does not have; null = only report them
     */
    public record Request(
            String destination, Statement statement, Match match, boolean apply, @Nullable Covers covers, @Nullable Then missing, String actor) {
        public Request {
            if (destination.isBlank()) {
                throw Statement.invalid("say which destination the statement is of", "/destination");
            }
            if (covers != null && !covers.from().isBefore(covers.to())) {
                throw Statement.invalid("covers must end after it begins", "/covers/to");
            }
            if (missing == Then.CONTINUE) {
                throw Statement.invalid("missing is resend, fail or none", "/missing");
            }
            if (missing != null && covers == null) {
                throw Statement.invalid("what is missing says nothing unless the statement says which time it covers", "/covers");
            }
        }
    }

    public enum Verdict {
        MATCHED,
        ORPHAN,
        MISSING,
        AMOUNT_DIFFERS,
        AMBIGUOUS,
        CONTRADICTION;

        public String wire() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** What the import does about a row. */
    public enum Action {
        NONE,
        COMMIT,
        ABANDON,
        RECORD;

        public String wire() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * @param expected what the receipt says, or null when it does not say
     * @param done     true once the action was carried out
     * @param code     of the refusal, when carrying it out was refused
     */
    public record Row(
            Verdict verdict,
            @Nullable Line line,
            @Nullable EffectView effect,
            @Nullable Money expected,
            Action action,
            boolean done,
            @Nullable String code,
            String why) {
        private Row carriedOut() {
            return new Row(verdict, line, effect, expected, action, true, null, why);
        }

        private Row proposed() {
            return new Row(verdict, line, effect, expected, action, false, null, "proposed: somebody else must approve it");
        }

        private Row refused(WaybillException e) {
            return new Row(verdict, line, effect, expected, action, false, e.code(), String.valueOf(e.getMessage()));
        }
    }

    private final Effects effects;
    private final String tenant;
    private final Request request;

    private StatementImport(Effects effects, String tenant, Request request) {
        this.effects = effects;
        this.tenant = tenant;
        this.request = request;
    }

    /**
     * @return lines in their order, then the effects that no line has; the verdicts are from before anything was done
     * @throws WaybillException 422 STATEMENT_INVALID, 422 STATEMENT_TOO_WIDE; nothing was written then
     */
    public static List<Row> run(Effects effects, String tenant, Request request) {
        StatementImport run = new StatementImport(effects, tenant, request);
        List<Row> rows = run.rows();
        return request.apply() ? rows.stream().map(run::carryOut).toList() : rows;
    }

    // --- which receipts ---------------------------------------------------------------------------------------------------------

    /** The receipts of one effect, by attempt. */
    private record Sends(List<EffectView> all) {
        EffectView speaking() {
            return all.stream().max(Comparator.<EffectView>comparingInt(one -> weight(one.state())).thenComparing(one -> one.receipt().attempt()))
                    .orElseThrow();
        }

        /** An unknown receipt asks for an answer; else what was done outweighs what was not. */
        private static int weight(EffectState state) {
            return switch (state) {
                case UNKNOWN -> 5;
                case COMMITTED, VERIFIED -> 4;
                case COMPENSATED -> 3;
                case PLANNED, PREPARED, DISPATCHED -> 2;
                case NOT_APPLIED, ABANDONED -> 1;
            };
        }

        EffectState state() {
            return speaking().state();
        }
    }

    private record Place(InstanceKey instance, String path) {
        static Place of(EffectView view) {
            return new Place(view.instance(), view.receipt().path());
        }
    }

    /** Every open effect of the destination, the settled ones of the statement's time, and whichever a line names by key or provider id. */
    private List<Sends> candidates() {
        Map<UUID, EffectView> found = new LinkedHashMap<>();
        collect(found, filter(true, null, null, null, null));
        Instant from = request.covers() == null ? bound(true) : request.covers().from();
        Instant to = request.covers() == null ? bound(false) : request.covers().to();
        if (from != null && to != null) {
            collect(found, filter(false, null, null, from, to));
        }
        Set<String> known = new java.util.HashSet<>();
        found.values().forEach(view -> known.add(String.valueOf(name(view))));
        for (Line line : request.statement().lines()) {
            String wanted = name(line);
            if (wanted == null || known.contains(wanted)) {
                continue;
            }
            switch (request.match()) {
                case Match.Key _ -> collect(found, filter(false, wanted, null, null, null));
                case Match.ProviderId _ -> collect(found, filter(false, null, wanted, null, null));
                case Match.Label _ -> {}
            }
        }
        Map<Place, List<EffectView>> grouped = new LinkedHashMap<>();
        found.values().forEach(view -> grouped.computeIfAbsent(Place.of(view), _ -> new ArrayList<>()).add(view));
        return grouped.values().stream().map(Sends::new).toList();
    }

    private @Nullable Instant bound(boolean first) {
        List<Instant> times = request.statement().lines().stream().map(Line::at).filter(java.util.Objects::nonNull).sorted().toList();
        if (times.isEmpty()) {
            return null;
        }
        return first ? times.getFirst().minus(AROUND) : times.getLast().plus(AROUND);
    }

    private EffectFilter filter(
            boolean open, @Nullable String key, @Nullable String providerId, @Nullable Instant from, @Nullable Instant to) {
        return new EffectFilter(
                tenant, open, Set.of(), null, null, null, null, null, null, null, key, providerId, null, null, null, from, to, null, PAGE);
    }

    private void collect(Map<UUID, EffectView> found, EffectFilter first) {
        EffectFilter filter = first;
        while (true) {
            List<EffectView> page = effects.list(filter);
            page.stream().filter(this::ofDestination).forEach(view -> found.putIfAbsent(view.receipt().id(), view));
            if (found.size() > MAX_RECEIPTS) {
                throw new WaybillException(
                        422, "STATEMENT_TOO_WIDE", "more than " + MAX_RECEIPTS + " receipts are of this destination and time", "/destination",
                        "name the destination more exactly, or split the statement by time");
            }
            if (page.size() < PAGE) {
                return;
            }
            filter = new EffectFilter(
                    tenant, first.openOnly(), Set.of(), null, null, null, null, null, null, null, first.idempotencyKey(),
                    first.providerReceiptId(), null, null, null, first.from(), first.to(), page.getLast().cursor(), PAGE);
        }
    }

    private boolean ofDestination(EffectView view) {
        return FourEyes.ofDestination(view, request.destination());
    }

    private @Nullable String name(Line line) {
        return request.match() instanceof Match.ProviderId ? line.transaction() : line.reference();
    }

    private @Nullable String name(EffectView view) {
        return switch (request.match()) {
            case Match.Key _ -> view.receipt().idempotencyKey();
            case Match.ProviderId _ -> view.last() == null ? null : view.last().providerReceiptId();
            case Match.Label label -> Money.text(Money.labels(view).get(label.name()));
        };
    }

    // --- what to think of it ----------------------------------------------------------------------------------------------------

    private List<Row> rows() {
        List<Sends> all = candidates();
        Map<String, List<Sends>> byName = new HashMap<>();
        for (Sends sends : all) {
            sends.all().stream().map(this::name).filter(java.util.Objects::nonNull).distinct()
                    .forEach(name -> byName.computeIfAbsent(name, _ -> new ArrayList<>()).add(sends));
        }
        Map<String, List<Line>> linesByName = new HashMap<>();
        Map<String, Integer> transactions = new HashMap<>();
        for (Line line : request.statement().lines()) {
            String name = name(line);
            if (name != null) {
                linesByName.computeIfAbsent(name, _ -> new ArrayList<>()).add(line);
            }
            if (line.transaction() != null) {
                transactions.merge(line.transaction(), 1, Integer::sum);
            }
        }
        List<Row> rows = new ArrayList<>();
        for (Line line : request.statement().lines()) {
            String name = name(line);
            List<Sends> mine = name == null ? List.of() : byName.getOrDefault(name, List.of());
            List<Line> rivals = name == null ? List.of(line) : linesByName.getOrDefault(name, List.of(line));
            if (mine.isEmpty()) {
                rows.add(row(Verdict.ORPHAN, line, null, Action.NONE, name == null ? "the line names nothing of ours" : "no receipt has this name"));
            } else if (mine.size() > 1 || rivals.size() > 1) {
                rows.add(row(Verdict.AMBIGUOUS, line, mine.size() == 1 ? mine.getFirst().speaking() : null, Action.NONE,
                        rivals.size() + " line(s) and " + mine.size() + " effect(s) are called " + name));
            } else if (line.transaction() != null && transactions.getOrDefault(line.transaction(), 0) > 1) {
                rows.add(row(Verdict.AMBIGUOUS, line, mine.getFirst().speaking(), Action.NONE, "several lines carry " + line.transaction()));
            } else {
                rows.add(pair(line, mine.getFirst()));
            }
        }
        List<Line> orphans = rows.stream().filter(row -> row.verdict() == Verdict.ORPHAN).map(Row::line).filter(java.util.Objects::nonNull).toList();
        Map<String, Row> missing = new TreeMap<>();
        for (Sends sends : all) {
            if (sends.all().stream().map(this::name).noneMatch(name -> name != null && linesByName.containsKey(name))) {
                Row row = missing(sends, orphans);
                if (row != null) {
                    missing.put(sends.speaking().receipt().id().toString(), row);
                }
            }
        }
        rows.addAll(missing.values());
        return rows;
    }

    private static Row row(Verdict verdict, @Nullable Line line, @Nullable EffectView effect, Action action, String why) {
        return new Row(verdict, line, effect, effect == null ? null : Money.of(effect), action, false, null, why);
    }

    private Row pair(Line line, Sends found) {
        Sends sends = found.state() == EffectState.NOT_APPLIED || found.state() == EffectState.ABANDONED ? whole(found) : found;
        EffectView effect = sends.speaking();
        Money expected = Money.of(effect);
        if (expected != null && line.money() != null && !expected.agrees(line.money())) {
            return row(Verdict.AMOUNT_DIFFERS, line, effect, Action.NONE, "the receipt says " + expected + ", the statement " + line.money());
        }
        String compared = expected == null || line.money() == null ? "; the amount could not be compared" : "";
        String stored = effect.last() == null ? null : effect.last().providerReceiptId();
        boolean other = stored != null && line.transaction() != null && !stored.equals(line.transaction());
        return switch (sends.state()) {
            case UNKNOWN -> open(line, effect, compared);
            case COMMITTED, VERIFIED, COMPENSATED -> other
                    ? row(Verdict.CONTRADICTION, line, effect, Action.RECORD, "the receipt names " + stored + " as the provider's id")
                    : row(Verdict.MATCHED, line, effect, Action.NONE, "settled: " + effect.state().wire() + compared);
            case PLANNED, PREPARED, DISPATCHED -> row(Verdict.MATCHED, line, effect, Action.NONE, "its call is still out" + compared);
            case NOT_APPLIED, ABANDONED -> row(
                    Verdict.CONTRADICTION, line, effect, Action.RECORD, "the receipt says " + effect.state().wire() + ", the provider booked it");
        };
    }

    private Row open(Line line, EffectView effect, String compared) {
        if (line.transaction() == null) {
            return row(Verdict.MATCHED, line, effect, Action.NONE, "the line has no transaction id: a person must decide" + compared);
        }
        Instant sent = effect.receipt().at();
        if (line.at() != null && sent != null && line.at().plus(AROUND).isBefore(sent)) {
            return row(Verdict.AMBIGUOUS, line, effect, Action.NONE, "the line is of " + line.at() + ", and this was sent first at " + sent);
        }
        boolean taken = effects.list(filter(false, null, line.transaction(), null, null)).stream()
                .anyMatch(one -> !Place.of(one).equals(Place.of(effect)) && ofDestination(one));
        return taken
                ? row(Verdict.AMBIGUOUS, line, effect, Action.NONE, line.transaction() + " is the provider's id of another effect already")
                : row(Verdict.MATCHED, line, effect, Action.COMMIT, "unknown: the statement has it" + compared);
    }

    /** With every attempt: a later one may have done what this one did not. */
    private Sends whole(Sends sends) {
        EffectView one = sends.speaking();
        return new Sends(effects.list(RunDesk.filterOf(one.instance(), 10_000)).stream()
                .filter(view -> view.receipt().path().equals(one.receipt().path()))
                .toList());
    }

    private @Nullable Row missing(Sends sends, List<Line> orphans) {
        EffectView effect = sends.speaking();
        if (effect.state().applied()) {
            return covered(effect)
                    ? row(Verdict.MISSING, null, effect, Action.NONE, "the receipt says " + effect.state().wire() + ", the statement does not have it")
                    : null;
        }
        if (effect.state() != EffectState.UNKNOWN) {
            return null;
        }
        List<EffectView> unknown = sends.all().stream().filter(one -> one.state() == EffectState.UNKNOWN).toList();
        String why = whyNot(unknown, Money.of(effect), orphans);
        return row(Verdict.MISSING, null, effect, why == null ? Action.ABANDON : Action.NONE, why == null ? "not on the covering statement" : why);
    }

    /** Why an unknown effect that the statement lacks is still not known to be absent; null = it is. */
    private @Nullable String whyNot(List<EffectView> unknown, @Nullable Money expected, List<Line> orphans) {
        if (request.covers() == null) {
            return "the statement does not say which time it covers";
        }
        if (!unknown.stream().allMatch(this::covered)) {
            return "the statement does not cover all the time in which it may have arrived";
        }
        if (!unknown.stream().allMatch(one -> effects.get(tenant, one.receipt().id().toString()).quiet())) {
            return "its request may still arrive";
        }
        for (Line orphan : orphans) {
            if (expected == null || orphan.money() == null || expected.agrees(orphan.money())) {
                return "line " + orphan.number() + " could be it under another name";
            }
        }
        return request.missing() == null ? "not on the covering statement; say what is to be done with missing" : null;
    }

    private boolean covered(EffectView view) {
        Instant at = view.receipt().at();
        Instant quiet = view.receipt().quietAt();
        Covers covers = request.covers();
        return covers != null && at != null && quiet != null && !at.isBefore(covers.from()) && !quiet.isAfter(covers.to());
    }

    // --- what to do about it ----------------------------------------------------------------------------------------------------

    private Row carryOut(Row row) {
        EffectView effect = row.effect();
        if (effect == null || row.action() == Action.NONE) {
            return row;
        }
        try {
            EffectCase file = switch (row.action()) {
                case COMMIT -> commit(effect, java.util.Objects.requireNonNull(row.line()));
                case ABANDON -> abandon(effect);
                default -> record(effect, java.util.Objects.requireNonNull(row.line()), row.why());
            };
            return row.action() != Action.RECORD && file.pending() != null ? row.proposed() : row.carriedOut();
        } catch (WaybillException e) {
            // Somebody else decided it meanwhile, or its call is out: said in the row; the others are not held up.
            return row.refused(e);
        }
    }

    private EffectCase commit(EffectView effect, Line line) {
        return effects.resolve(tenant, effect.receipt().id(), new Resolution(
                EffectState.COMMITTED, "statement of " + request.destination() + ", line " + line.number() + ": " + line.text(), null,
                line.transaction(), null, null, request.actor(), key(effect, line.transaction() + "|" + line.text())));
    }

    private EffectCase abandon(EffectView effect) {
        Covers covers = java.util.Objects.requireNonNull(request.covers());
        String note = "searched the statement of " + request.destination() + " from " + covers.from() + " to " + covers.to() + ", "
                + request.statement().lines().size() + " lines: not there";
        return effects.resolve(tenant, effect.receipt().id(), new Resolution(
                EffectState.ABANDONED, note, null, null, null, request.missing(), request.actor(), key(effect, note + request.missing())));
    }

    private EffectCase record(EffectView effect, Line line, String why) {
        ObjectNode body = Json.NODES.objectNode().put("statement", request.destination()).put("line", line.text()).put("why", why);
        if (line.transaction() != null) {
            body.put("transaction", line.transaction());
        }
        return effects.attach(tenant, effect.receipt().id(), List.of(new Attachment("statement", body, null, true)), request.actor());
    }

    /** The same line decides the same effect once, also when two people import it at the same moment. */
    private static String key(EffectView effect, String what) {
        return "statement-" + UUID.nameUUIDFromBytes((effect.receipt().id() + "|" + what).getBytes(StandardCharsets.UTF_8));
    }
}

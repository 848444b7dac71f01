package dev.waybill.operate;

import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Resolution.Then;
import dev.waybill.operate.Statement.Kind;
import dev.waybill.operate.Statement.Line;
import dev.waybill.operate.Statement.Row;
import dev.waybill.store.JournalRow;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.ReceiptRow;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The three-way match of a statement and the ledger. Everything is matched before anything is written; then each decision takes the one
 * road of decisions, in a transaction of its own: proof, races and four-eyes hold as for a person's. Repeated, it finds what it did.
 */
final class StatementImport {
    private static final int PAGE = 500;

    /** One effect, whatever its attempts. */
    private record Identity(InstanceKey instance, String path) {
        static Identity of(EffectView view) {
            return new Identity(view.instance(), view.receipt().path());
        }
    }

    /** What a line came to, before it is known what the other lines came to. */
    private record Found(Line line, Map<Identity, EffectView> effects) {}

    private final Effects effects;
    private final String tenant;
    private final Statement.Request request;
    private final String actor;
    private final Map<Identity, Integer> linesOf = new HashMap<>();
    private final Map<String, Integer> linesWithId = new HashMap<>();
    private final String sha256;

    StatementImport(Effects effects, String tenant, Statement.Request request, String actor) {
        this.effects = effects;
        this.tenant = tenant;
        this.request = request;
        this.actor = actor;
        this.sha256 = new Attachment(request.name(), "text/csv", request.content().getBytes(StandardCharsets.UTF_8)).sha256();
    }

    Statement.Report run() {
        List<Line> lines = StatementReader.read(request);
        List<Row> rows = new ArrayList<>();
        List<Found> found = new ArrayList<>();
        for (Line line : lines) {
            if (!request.statuses().isEmpty() && !request.statuses().contains(String.valueOf(line.status()))) {
                rows.add(row(Kind.SKIPPED, line, null, "none", "its status is " + line.status()));
                continue;
            }
            Found one = new Found(line, search(line));
            one.effects().keySet().forEach(identity -> linesOf.merge(identity, 1, Integer::sum));
            if (line.id() != null) {
                linesWithId.merge(line.id(), 1, Integer::sum);
            }
            found.add(one);
        }
        found.forEach(one -> rows.add(decided(one)));
        missing(rows);
        return new Statement.Report(sha256, lines.size(), request.apply(), List.copyOf(rows));
    }

    /** Everything that the line's key or id names: more than one effect is ambiguous, whichever of the two named it. */
    private Map<Identity, EffectView> search(Line line) {
        Map<Identity, EffectView> found = new LinkedHashMap<>();
        if (line.key() != null && request.matchLabel() != null) {
            labelled(line.key()).forEach((identity, view) -> found.put(identity, view));
        } else if (line.key() != null) {
            collect(found, filter(false, Set.of(), line.key(), null, null, null, null));
        }
        if (line.id() != null) {
            collect(found, filter(false, Set.of(), null, line.id(), null, null, null));
        }
        return found;
    }

    /** A label is searched where an index bounds it: what waits for somebody, and the time that the statement covers. */
    private Map<Identity, EffectView> labelled(String value) {
        Map<Identity, EffectView> found = new LinkedHashMap<>();
        collect(found, labelFilter(true, value, null, null));
        if (request.from() != null && request.to() != null) {
            collect(found, labelFilter(false, value, request.from(), request.to()));
        }
        String label = String.valueOf(request.matchLabel());
        found.values().removeIf(view -> !FourEyes.label(view.receipt(), label).map(value::equals).orElse(false));
        return found;
    }

    private EffectFilter labelFilter(boolean open, String value, @Nullable Instant from, @Nullable Instant to) {
        return new EffectFilter(
                tenant, open, Set.of(), null, null, null, null, null, null, null, null, null, null, null, value, from, to, null, PAGE);
    }

    /** Of the attempts of one effect the unknown one speaks, else the newest. */
    private void collect(Map<Identity, EffectView> found, EffectFilter filter) {
        for (EffectView view : effects.list(filter)) {
            if (FourEyes.Destinations.fits(request.destination(), view.receipt().destination())) {
                found.merge(Identity.of(view), view, (known, other) -> rank(other) > rank(known)
                                || rank(other) == rank(known) && other.receipt().attempt() > known.receipt().attempt()
                        ? other
                        : known);
            }
        }
    }

    private static int rank(EffectView view) {
        return view.state() == EffectState.UNKNOWN ? 2 : view.state().applied() ? 1 : 0;
    }

    private EffectFilter filter(
            boolean open,
            Set<EffectState> states,
            @Nullable String key,
            @Nullable String providerId,
            @Nullable Instant from,
            @Nullable Instant to,
            @Nullable String after) {
        return new EffectFilter(
                tenant, open, states, null, null, null, null, null, null, null, key, providerId, null, null, null, from, to, after, PAGE);
    }

    private Row decided(Found found) {
        Line line = found.line();
        if (found.effects().isEmpty()) {
            return row(Kind.ORPHAN, line, null, "none", "no receipt of this destination has its key or id");
        }
        EffectView effect = found.effects().values().iterator().next();
        if (found.effects().size() > 1) {
            return row(Kind.AMBIGUOUS, line, effect, "none", "the line fits " + found.effects().size() + " effects");
        }
        if (linesOf.getOrDefault(Identity.of(effect), 0) > 1) {
            return row(Kind.AMBIGUOUS, line, effect, "none", "another line fits the same effect");
        }
        if (line.id() != null && linesWithId.getOrDefault(line.id(), 0) > 1) {
            return row(Kind.AMBIGUOUS, line, effect, "none", "another line has the same id");
        }
        String differs = differs(line, effect.receipt());
        if (differs != null) {
            return row(Kind.AMOUNT_DIFFERS, line, effect, "none", differs);
        }
        return switch (effect.state()) {
            case UNKNOWN -> commit(line, effect);
            case COMMITTED, VERIFIED, COMPENSATED -> settled(line, effect);
            case DISPATCHED, PREPARED, PLANNED -> row(Kind.IN_FLIGHT, line, effect, "none", "look again when it has come to something");
            case NOT_APPLIED, ABANDONED -> contradiction(
                    line, effect, "the provider has what the ledger says is " + effect.state().wire());
        };
    }

    private Row settled(Line line, EffectView effect) {
        Set<String> known = new HashSet<>();
        for (JournalRow move : effects.get(tenant, effect.receipt().id().toString()).journal()) {
            if (move.providerReceiptId() != null) {
                known.add(move.providerReceiptId());
            }
        }
        return line.id() == null || known.isEmpty() || known.contains(line.id())
                ? row(Kind.SETTLED, line, effect, "none", null)
                : contradiction(line, effect, "the ledger knows it as " + String.join(", ", known));
    }

    /** What speaks against a settled receipt changes nothing: it is kept with the case, once, for whoever looks. */
    private Row contradiction(Line line, EffectView effect, String why) {
        if (!request.apply()) {
            return row(Kind.CONTRADICTION, line, effect, "would_record", why);
        }
        Attachment proof = proof(line);
        try {
            effects.attach(
                    tenant, effect.receipt().id(), new Evidence(note(line) + ": " + why, null, proof), actor, "statement:" + proof.sha256());
            return row(Kind.CONTRADICTION, line, effect, "recorded", why);
        } catch (WaybillException e) {
            return row(Kind.CONTRADICTION, line, effect, "refused", e.code() + ": " + e.getMessage());
        }
    }

    /** Null when the amounts agree, or the statement has none. */
    private @Nullable String differs(Line line, ReceiptRow receipt) {
        if (line.amount() == null) {
            return null;
        }
        BigDecimal ours = FourEyes.amount(receipt, request.amountLabel()).orElse(null);
        if (ours == null) {
            return "the receipt has no amount in a label " + request.amountLabel() + " to hold the amount against";
        }
        if (ours.compareTo(line.amount()) != 0) {
            return "the ledger says " + ours.toPlainString() + ", the statement " + line.amount().toPlainString();
        }
        String currency = FourEyes.label(receipt, "currency")
                .or(() -> FourEyes.label(receipt, request.amountLabel()).filter(text -> text.matches(".*\\s[A-Za-z]{3}")).map(text -> text.substring(text.length() - 3)))
                .orElse(null);
        return currency == null || line.currency() == null || currency.equalsIgnoreCase(line.currency())
                ? null
                : "the ledger says " + currency + ", the statement " + line.currency();
    }

    private Row commit(Line line, EffectView effect) {
        if (!request.apply()) {
            return row(Kind.MATCHED, line, effect, "would_commit", null);
        }
        Attachment proof = proof(line);
        Resolution resolution = new Resolution(
                EffectState.COMMITTED, note(line), null, line.id(), null, null, actor, "statement:" + proof.sha256(), proof);
        return resolve(Kind.MATCHED, line, effect, resolution, "committed");
    }

    private Attachment proof(Line line) {
        String suffix = request.format() == Statement.Format.CSV ? "csv" : "json";
        return new Attachment(
                "statement-line-" + line.number() + "." + suffix, suffix.equals("csv") ? "text/csv" : "application/json",
                line.raw().getBytes(StandardCharsets.UTF_8));
    }

    private String note(Line line) {
        return "line " + line.number() + " of the provider's statement " + request.name() + " (SHA-256 " + sha256 + ")";
    }

    private Row resolve(Kind kind, @Nullable Line line, EffectView effect, Resolution resolution, String done) {
        try {
            EffectCase file = effects.resolve(tenant, effect.receipt().id(), resolution);
            boolean waits = file.effect().state() == EffectState.UNKNOWN;
            return row(kind, line, file.effect(), waits ? "proposed" : done, waits ? "another principal has to approve it" : null);
        } catch (WaybillException e) {
            // One effect's refusal says nothing about the next one.
            return row(kind, line, effect, "refused", e.code() + ": " + e.getMessage());
        }
    }

    // --- what the statement does not have -----------------------------------------------------------------------------------------

    private void missing(List<Row> rows) {
        for (EffectView effect : all(true, Set.of(EffectState.UNKNOWN), null, null)) {
            String unproven = unproven(effect);
            unproven = unproven == null ? orphan(rows, effect) : unproven;
            if (unproven != null) {
                rows.add(row(Kind.MISSING, null, effect, "none", unproven));
            } else if (!request.apply()) {
                rows.add(row(Kind.MISSING, null, effect, "would_abandon", null));
            } else {
                String note = "searched the provider's statement " + request.name() + " (SHA-256 " + sha256 + "), which has everything from "
                        + request.from() + " to " + request.to() + ": no line has its key or id";
                Resolution resolution = new Resolution(
                        EffectState.ABANDONED, note, null, null, null, request.missingThen(), actor,
                        "statement:" + sha256 + ":" + effect.receipt().id(), null);
                rows.add(resolve(Kind.MISSING, null, effect, resolution, "abandoned"));
            }
        }
        if (request.from() != null && request.to() != null) {
            for (EffectView effect : all(false, Set.of(EffectState.COMMITTED, EffectState.VERIFIED), request.from(), request.to())) {
                rows.add(row(Kind.MISSING, null, effect, "none", "the ledger says " + effect.state().wire() + ", the statement has no line"));
            }
        }
    }

    /** A line without a receipt may be this one under a name that was cut or mistyped, unless it is about another amount; null = none may be. */
    private @Nullable String orphan(List<Row> rows, EffectView effect) {
        BigDecimal ours = FourEyes.amount(effect.receipt(), request.amountLabel()).orElse(null);
        return rows.stream()
                .filter(row -> row.kind() == Kind.ORPHAN)
                .filter(row -> ours == null || row.amount() == null || new BigDecimal(row.amount()).compareTo(ours) == 0)
                .findFirst()
                .map(row -> "line " + row.line() + ", which no receipt belongs to, could be it under another name")
                .orElse(null);
    }

    /** The newest attempt of each effect of the destination that no line fits. */
    private List<EffectView> all(boolean open, Set<EffectState> states, @Nullable Instant from, @Nullable Instant to) {
        Map<Identity, EffectView> found = new LinkedHashMap<>();
        String after = null;
        List<EffectView> page;
        do {
            page = effects.list(filter(open, states, null, null, from, to, after));
            for (EffectView view : page) {
                if (FourEyes.Destinations.fits(request.destination(), view.receipt().destination()) && !linesOf.containsKey(Identity.of(view))) {
                    found.putIfAbsent(Identity.of(view), view);
                }
            }
            after = page.isEmpty() ? null : page.getLast().cursor();
        } while (page.size() == PAGE);
        return found.values().stream().sorted(Comparator.comparing(view -> view.receipt().id())).toList();
    }

    /** Why the absence of a line proves nothing yet, or null when it does. */
    private @Nullable String unproven(EffectView effect) {
        Instant from = request.from();
        Instant to = request.to();
        if (from == null || to == null) {
            return "nobody says which time the statement covers (--covers FROM..TO)";
        }
        EffectCase file = effects.get(tenant, effect.receipt().id().toString());
        for (EffectView attempt : file.attempts()) {
            Instant at = attempt.receipt().at();
            Instant quiet = attempt.receipt().quietAt();
            boolean doubtful = attempt.state() == EffectState.UNKNOWN || attempt.state() == EffectState.DISPATCHED;
            if (!doubtful) {
                continue;
            }
            if (at == null || quiet == null || at.isBefore(from) || !quiet.isBefore(to)) {
                return "the statement does not cover " + at + " to " + quiet + ", when it could arrive";
            }
            if (quiet.isAfter(file.databaseNow())) {
                return "it may still arrive until " + quiet;
            }
        }
        return null;
    }

    private Row row(Kind kind, @Nullable Line line, @Nullable EffectView effect, String action, @Nullable String why) {
        BigDecimal amount = line == null ? null : line.amount();
        String ours = effect == null
                ? null
                : FourEyes.label(effect.receipt(), request.amountLabel()).orElse(null);
        return new Row(
                kind, line == null ? null : line.number(), line != null ? line.key() : effect == null ? null : effect.receipt().idempotencyKey(),
                line == null ? null : line.id(), amount == null ? null : amount.toPlainString(), ours,
                effect == null ? null : effect.receipt().id(), effect == null ? null : effect.state().wire(), action, why);
    }

    static void check(Statement.Request request) {
        if (request.destination().isBlank()) {
            throw WaybillException.badRequest("INVALID_FIELD", "a destination is needed", "/destination");
        }
        if ((request.from() == null) != (request.to() == null)
                || request.from() != null && request.to() != null && !request.from().isBefore(request.to())) {
            throw WaybillException.badRequest("INVALID_FIELD", "covers needs a beginning and a later end", "/covers");
        }
        if (request.missingThen() == Then.CONTINUE) {
            throw WaybillException.badRequest("INVALID_FIELD", "what is missing at the provider cannot go on: none, resend or fail", "/missing_then");
        }
    }
}

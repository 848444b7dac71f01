package dev.waybill.check;

import dev.waybill.check.Rows.BlockRow;
import dev.waybill.check.Rows.Move;
import dev.waybill.check.Rows.RunKey;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** All rows of one run. */
final class RunStory {
    final RunKey key;
    /** Null when rows speak of a run that is not there. */
    Rows.@Nullable Run run;
    Rows.@Nullable Sequence sequence;
    /** By path, in the order of attempts. */
    final TreeMap<String, List<Attempt>> effects = new TreeMap<>();
    /** By path, in the order of n. */
    final TreeMap<String, List<BlockRow>> rows = new TreeMap<>();
    /** Moves of receipts that are not there. */
    final List<Move> orphans = new ArrayList<>();
    final List<Rows.Event> events = new ArrayList<>();
    final List<Rows.Evidence> evidence = new ArrayList<>();
    final List<Rows.Open> open = new ArrayList<>();

    private final List<Attempt> attempts = new ArrayList<>();
    private final List<Move> moves = new ArrayList<>();
    private @Nullable Reference reference;
    private @Nullable JsonNode document;
    private @Nullable Set<String> compensations;

    RunStory(RunKey key) {
        this.key = key;
    }

    void add(Attempt attempt) {
        attempts.add(attempt);
        effects.computeIfAbsent(attempt.receipt().path(), path -> new ArrayList<>()).add(attempt);
    }

    void add(Move move) {
        moves.add(move);
    }

    void add(BlockRow row) {
        rows.computeIfAbsent(row.path(), path -> new ArrayList<>()).add(row);
    }

    void sort() {
        effects.values().forEach(list -> list.sort(Comparator.comparingInt(attempt -> attempt.receipt().attempt())));
        rows.values().forEach(list -> list.sort(Comparator.comparingInt(BlockRow::n)));
        moves.sort(Comparator.comparingInt(Move::n));
        for (Move move : moves) {
            Attempt attempt = attempt(move.path(), move.attempt());
            if (attempt == null) {
                orphans.add(move);
            } else {
                attempt.moves().add(move);
            }
        }
    }

    List<Attempt> attempts() {
        return attempts;
    }

    List<Attempt> attempts(String path) {
        return effects.getOrDefault(path, List.of());
    }

    @Nullable Attempt attempt(String path, int number) {
        return attempts(path).stream().filter(one -> one.receipt().attempt() == number).findFirst().orElse(null);
    }

    List<BlockRow> rows(String path) {
        return rows.getOrDefault(path, List.of());
    }

    @Nullable BlockRow lastRow(String path) {
        List<BlockRow> all = rows(path);
        return all.isEmpty() ? null : all.getLast();
    }

    /** The move that a block row was committed with, or null. */
    @Nullable Move moveOf(String transitionId) {
        return moves.stream().filter(move -> move.transitionId().equals(transitionId)).findFirst().orElse(null);
    }

    List<Move> moves() {
        return moves;
    }

    JsonNode document() {
        JsonNode parsed = document;
        if (parsed == null) {
            parsed = Json.parse(sequence == null ? null : sequence.definition());
            document = parsed;
        }
        return parsed;
    }

    /** All paths behind an iteration prefix. */
    Set<String> paths(String prefix) {
        Set<String> paths = new java.util.TreeSet<>(effects.subMap(prefix, prefix + '\uffff').keySet());
        paths.addAll(rows.subMap(prefix, prefix + '\uffff').keySet());
        return paths;
    }

    /** Whether an attempt belongs to a compensation of a saga. */
    boolean compensates(Attempt attempt) {
        String path = attempt.receipt().path();
        Set<String> known = compensations;
        if (known == null) {
            known = new java.util.HashSet<>();
            for (JsonNode compensation : document().findValues("compensation")) {
                RecordedValues.blockIds(compensation, known);
            }
            compensations = known;
        }
        return known.contains(path.substring(path.lastIndexOf('/') + 1));
    }

    /** The first durable sign of anything at this path, or null. */
    @Nullable Instant begin(String path) {
        Instant receipt = attempts(path).isEmpty() ? null : attempts(path).getFirst().receipt().at();
        Instant row = rows(path).isEmpty() ? null : rows(path).getFirst().at();
        return receipt == null || (row != null && row.isBefore(receipt)) ? row : receipt;
    }

    /** The first durable sign of anything whose path begins so, or null. */
    @Nullable Instant beginUnder(String prefix) {
        return java.util.stream.Stream.concat(
                        effects.subMap(prefix, prefix + '\uffff').keySet().stream(), rows.subMap(prefix, prefix + '\uffff').keySet().stream())
                .map(this::begin)
                .filter(java.util.Objects::nonNull)
                .min(Comparator.naturalOrder())
                .orElse(null);
    }

    /** Whether what is first heard under the prefix only ends something: the row of a call without a receipt says nothing of when it began. */
    boolean beginHidden(String prefix) {
        Instant begin = beginUnder(prefix);
        return rows.subMap(prefix, prefix + '\uffff').values().stream()
                .map(List::getFirst)
                .anyMatch(row -> row.at().equals(begin) && Set.of("output", "error", "retry").contains(row.kind()));
    }

    /** What the reference interpreter makes of the rows; worked out once. */
    Reference reference() {
        Reference done = reference;
        if (done == null) {
            done = Reference.of(this);
            reference = done;
        }
        return done;
    }
}

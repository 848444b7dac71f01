package dev.waybill.lab.torture;

import dev.waybill.json.Json;
import dev.waybill.lab.torture.StoreBook.Receipt;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;

/**
 * The books of provider, store and client, compared. Each fault names what is wrong and, where there is one, the effect; each figure of
 * {@link #faults} must be empty.
 */
final class Verdict {
    private final StoreBook store;
    private final Map<String, List<JsonNode>> deliveries;
    private final Map<String, List<JsonNode>> applications;
    private final Map<String, Set<String>> acknowledged;
    private final Map<String, List<String>> faults = new LinkedHashMap<>();

    Verdict(StoreBook store, ProviderBook provider, Map<String, Set<String>> acknowledged) {
        this.store = store;
        this.deliveries = provider.deliveries();
        this.applications = provider.applications();
        this.acknowledged = acknowledged;
        deliveries();
        applications();
        certainty();
        starts();
        runs();
    }

    private void fault(String kind, String what) {
        faults.computeIfAbsent(kind, it -> new ArrayList<>()).add(what);
    }

    private void deliveries() {
        faults.put("double deliveries", new ArrayList<>());
        faults.put("deliveries without a receipt", new ArrayList<>());
        deliveries.forEach((id, lines) -> {
            if (lines.size() > 1) {
                fault("double deliveries", id);
            }
            if (!store.receipts().containsKey(id)) {
                fault("deliveries without a receipt", id);
            }
        });
    }

    /** Two attempts of one effect that were both applied. Only an operator may send again what was not proven absent, so all are listed. */
    private void applications() {
        faults.put("double applications, engine-made", new ArrayList<>());
        faults.put("double applications after an operator's resend", new ArrayList<>());
        Map<String, List<Receipt>> applied = new TreeMap<>();
        applications.forEach((id, lines) -> {
            Receipt receipt = store.receipts().get(id);
            if (receipt != null) {
                lines.forEach(line -> applied.computeIfAbsent(receipt.effect(), it -> new ArrayList<>()).add(receipt));
            }
        });
        applied.values().stream().filter(all -> all.size() > 1).forEach(all -> {
            int last = all.stream().mapToInt(Receipt::attempt).max().orElseThrow();
            boolean askedFor = all.stream().map(Receipt::id).distinct().count() == all.size()
                    && all.stream().filter(receipt -> receipt.attempt() < last).allMatch(receipt -> receipt.state().equals("abandoned"));
            fault(
                    askedFor ? "double applications after an operator's resend" : "double applications, engine-made",
                    all.getFirst().id());
        });
    }

    private void certainty() {
        faults.put("false certainty: done, but never applied", new ArrayList<>());
        faults.put("false certainty: not applied, but it was", new ArrayList<>());
        faults.put("undecided in a run that ended", new ArrayList<>());
        store.receipts().values().forEach(receipt -> {
            boolean applied = applications.containsKey(receipt.id());
            switch (receipt.state()) {
                case "committed", "verified" -> {
                    if (!applied) {
                        fault("false certainty: done, but never applied", receipt.id());
                    }
                }
                case "not_applied" -> {
                    if (applied) {
                        fault("false certainty: not applied, but it was", receipt.id());
                    }
                }
                case "dispatched", "unknown" -> {
                    StoreBook.Run run = store.runs().get(receipt.run());
                    if (run == null || run.terminal()) {
                        fault("undecided in a run that ended", receipt.id());
                    }
                }
                default -> {}
            }
        });
    }

    private void starts() {
        faults.put("acknowledged starts lost", new ArrayList<>());
        faults.put("one key, two runs", new ArrayList<>());
        acknowledged.forEach((key, ids) -> {
            ids.stream().filter(id -> !store.runs().containsKey(id)).forEach(id -> fault("acknowledged starts lost", key + " " + id));
            if (ids.size() > 1) {
                fault("one key, two runs", key + " " + ids);
            }
        });
    }

    private void runs() {
        faults.put("stuck runs", new ArrayList<>());
        store.runs().values().stream()
                .filter(run -> !run.terminal() && !run.namedWait())
                .forEach(run -> fault("stuck runs", run.id() + " " + run.state() + " " + run.reasons()));
    }

    /** By kind; a kind without faults is there with an empty list. */
    Map<String, List<String>> faults() {
        return faults;
    }

    boolean clean() {
        return faults.values().stream().allMatch(List::isEmpty);
    }

    // --- figures ---------------------------------------------------------------------------------------------------------------

    int guardedSteps() {
        return store.receipts().size();
    }

    int delivered() {
        return deliveries.values().stream().mapToInt(List::size).sum();
    }

    int applied() {
        return applications.values().stream().mapToInt(List::size).sum();
    }

    private Stream<StoreBook.Move> moves() {
        return store.receipts().values().stream().flatMap(receipt -> receipt.moves().stream());
    }

    Map<String, Long> unknownsByReason() {
        return moves().filter(move -> move.to().equals("unknown"))
                .collect(Collectors.groupingBy(move -> String.valueOf(move.reason()), TreeMap::new, Collectors.counting()));
    }

    /** Unknown although the request never came to the provider: honest, but a person was asked for nothing. */
    long neverDeliveredUnknowns() {
        return store.receipts().values().stream()
                .filter(receipt -> receipt.was("unknown") && !deliveries.containsKey(receipt.id()))
                .count();
    }

    Map<String, Long> notAppliedByProof() {
        return moves().filter(move -> move.to().equals("not_applied"))
                .collect(Collectors.groupingBy(move -> move.proof() + " " + move.reason(), TreeMap::new, Collectors.counting()));
    }

    Map<String, Long> movesByActor() {
        return moves().collect(Collectors.groupingBy(
                move -> move.actor() + ": " + move.from() + " -> " + move.to(), TreeMap::new, Collectors.counting()));
    }

    Map<String, Long> runsByState() {
        return store.runs().values().stream().collect(Collectors.groupingBy(StoreBook.Run::state, TreeMap::new, Collectors.counting()));
    }

    Map<String, Long> namedWaits() {
        return store.runs().values().stream()
                .filter(run -> !run.terminal() && run.namedWait())
                .map(run -> Json.parseDefinition(String.valueOf(run.reasons())).path(0).path("reason").asString())
                .collect(Collectors.groupingBy(reason -> reason, TreeMap::new, Collectors.counting()));
    }

    /** Everything that is known of one receipt's effect, in order of time; empty when {@code what} does not begin with a receipt id. */
    List<String> timeline(String what, List<JsonNode> deeds) {
        Receipt asked = store.receipts().get(what.split(" ")[0]);
        Map<String, List<String>> lines = new TreeMap<>();
        if (asked == null) {
            return deliveries.getOrDefault(what.split(" ")[0], List.of()).stream().map(JsonNode::toString).toList();
        }
        store.receipts().values().stream().filter(other -> other.effect().equals(asked.effect())).forEach(receipt -> {
            String name = "attempt " + receipt.attempt() + " (" + receipt.id() + ")";
            at(lines, receipt.at().toString(), name + " intended, run " + receipt.run() + " at " + receipt.path());
            receipt.moves().forEach(move -> at(
                    lines, move.at().toString(),
                    name + " " + move.from() + " -> " + move.to() + " by " + move.actor() + ", " + move.reason() + " " + move.proof()));
            deliveries.getOrDefault(receipt.id(), List.of()).forEach(line -> at(
                    lines, line.path("at").asString(), name + " delivered on connection " + line.path("connection")));
            applications.getOrDefault(receipt.id(), List.of()).forEach(line -> at(
                    lines, line.path("at").asString(), name + " applied as " + line.path("answer").path("id").asString() + " "
                            + line.path("fault").asString("")));
        });
        deeds.forEach(deed -> at(lines, deed.path("at").asString(), "  nemesis: " + deed.path("kind").asString() + " "
                + deed.path("node").asString("") + " until " + deed.path("until").asString()));
        List<String> all = new ArrayList<>();
        lines.forEach((at, events) -> events.forEach(event -> all.add(at + "  " + event)));
        int first = 0;
        int last = all.size() - 1;
        while (first < last && all.get(first).contains("nemesis")) {
            first++;
        }
        while (last > first && all.get(last).contains("nemesis")) {
            last--;
        }
        // A few deeds before it began are part of the story.
        return all.subList(Math.max(0, first - 3), last + 1);
    }

    private static void at(Map<String, List<String>> lines, String at, String what) {
        lines.computeIfAbsent(at, it -> new ArrayList<>()).add(what);
    }
}

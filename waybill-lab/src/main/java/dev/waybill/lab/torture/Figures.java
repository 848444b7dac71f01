package dev.waybill.lab.torture;

import dev.waybill.json.Json;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;

/** What there was to check: counts from the books of store and provider. Whether it is right the checker says. */
final class Figures {
    private final StoreBook store;
    private final Map<String, List<JsonNode>> deliveries;
    private final Map<String, List<JsonNode>> applications;

    Figures(StoreBook store, ProviderBook provider) {
        this.store = store;
        this.deliveries = provider.deliveries();
        this.applications = provider.applications();
    }

    int guardedSteps() {
        return store.receipts().size();
    }

    int delivered() {
        return deliveries.values().stream().mapToInt(List::size).sum();
    }

    int applied() {
        return applications.values().stream().mapToInt(List::size).sum();
    }

    /** What the provider itself saw of the receipts in the store, when their requests arrived. */
    Map<String, Long> seenStates() {
        return deliveries.values().stream().flatMap(List::stream)
                .collect(Collectors.groupingBy(line -> line.path("seen_state").asString("(request incomplete)"), TreeMap::new, Collectors.counting()));
    }

    /** Intents that were durable and whose send deadline passed: no byte left. */
    long lapsed() {
        return moves().filter(move -> "not_sent".equals(move.proof()) && String.valueOf(move.reason()).toLowerCase(Locale.ROOT).contains("deadline")).count();
    }

    /** Sent again by the engine or a person under the same key. */
    long resends() {
        return store.receipts().values().stream().filter(StoreBook.Receipt::resend).count();
    }

    /** Runs that have not come to rest, for a person to look at. */
    List<String> restless() {
        return store.runs().values().stream()
                .filter(run -> !run.terminal() && !run.namedWait())
                .map(run -> run.id() + " " + run.state() + ", " + run.takeovers() + " takeovers, reasons " + run.reasons())
                .toList();
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
}

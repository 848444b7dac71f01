package dev.waybill.server.demo;

import dev.waybill.json.Json;
import dev.waybill.server.demo.Order.Fate;
import dev.waybill.test.Ledger;
import dev.waybill.test.LedgerEntry;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** What a provider's ledger file says of each order. */
record Tally(Map<Fate, Count> counts) {
    private static final String[] WORDS = {"none", "one", "two", "three", "four", "five"};

    /**
     * @param charges   bookings of money
     * @param sends     charge requests that arrived
     * @param shipments bookings of a label
     */
    record Count(int charges, int sends, int shipments, boolean refused) {
        @Override
        public String toString() {
            return charges + " (" + sends + ")";
        }
    }

    static Tally of(Path ledger, List<Order> orders) {
        List<LedgerEntry> entries = Ledger.read(ledger);
        Map<Fate, Count> counts = new EnumMap<>(Fate.class);
        for (Order order : orders) {
            Set<Long> charges = deliveries(entries, order.chargePath(), order);
            counts.put(order.fate(), new Count(
                    count(entries, LedgerEntry.Kind.APPLY, charges),
                    charges.size(),
                    count(entries, LedgerEntry.Kind.APPLY, deliveries(entries, Order.SHIPMENTS, order)),
                    entries.stream().anyMatch(entry -> fits(entry, LedgerEntry.Kind.ANSWER, charges)
                            && entry.answer() != null
                            && entry.answer().path("status").asInt(0) == 402)));
        }
        return new Tally(counts);
    }

    /** The requests that arrived for an order, by number: their bodies name it, whatever key they carry. */
    private static Set<Long> deliveries(List<LedgerEntry> entries, String path, Order order) {
        return entries.stream()
                .filter(entry -> entry.kind() == LedgerEntry.Kind.DELIVERY && entry.method().equals("POST") && entry.path().equals(path))
                .filter(entry -> entry.body() != null
                        && Json.tryParse(entry.body().getBytes(StandardCharsets.UTF_8))
                                .filter(body -> body.path("order").asString("").equals(order.name()))
                                .isPresent())
                .map(LedgerEntry::delivery)
                .collect(Collectors.toSet());
    }

    /** The provider's own name for the charge, as its ledger has it; empty when there is none. */
    static String chargeId(Path ledger, Order order) {
        List<LedgerEntry> entries = Ledger.read(ledger);
        Set<Long> charges = deliveries(entries, order.chargePath(), order);
        return entries.stream()
                .filter(entry -> fits(entry, LedgerEntry.Kind.APPLY, charges))
                .map(LedgerEntry::answer)
                .map(answer -> answer == null ? "" : answer.path("id").asString(""))
                .findFirst()
                .orElse("");
    }

    private static int count(List<LedgerEntry> entries, LedgerEntry.Kind kind, Set<Long> deliveries) {
        return (int) entries.stream().filter(entry -> fits(entry, kind, deliveries)).count();
    }

    private static boolean fits(LedgerEntry entry, LedgerEntry.Kind kind, Set<Long> deliveries) {
        return entry.kind() == kind && deliveries.contains(entry.delivery());
    }

    Count get(Fate fate) {
        Count count = counts.get(fate);
        if (count == null) {
            throw new IllegalStateException("no count for " + fate);
        }
        return count;
    }

    /** What became of the orders, in words. */
    String words() {
        List<String> trouble = new ArrayList<>();
        add(trouble, count -> count.charges > 1, " charged twice");
        add(trouble, count -> count.charges > 0 && count.shipments == 0, " paid and never shipped");
        add(trouble, count -> count.charges == 0 && !count.refused, " never paid");
        if (!trouble.isEmpty()) {
            return String.join("; ", trouble);
        }
        return WORDS[which(count -> count.shipments == 1).size()] + " shipped, " + WORDS[which(Count::refused).size()] + " refused";
    }

    boolean sound() {
        return which(count -> count.charges > 1 || count.charges != count.shipments || (count.charges == 0 && !count.refused)).isEmpty();
    }

    private void add(List<String> to, Predicate<Count> which, String words) {
        List<String> letters = which(which);
        if (!letters.isEmpty()) {
            to.add(String.join(", ", letters) + words);
        }
    }

    private List<String> which(Predicate<Count> fits) {
        return counts.entrySet().stream().filter(entry -> fits.test(entry.getValue())).map(entry -> entry.getKey().letter()).toList();
    }

    JsonNode json() {
        ObjectNode json = Json.NODES.objectNode();
        counts.forEach((fate, count) -> json.putObject(fate.letter())
                .put("charges", count.charges)
                .put("sends", count.sends)
                .put("shipments", count.shipments)
                .put("refused", count.refused));
        return json;
    }
}

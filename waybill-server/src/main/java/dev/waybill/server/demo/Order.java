package dev.waybill.server.demo;

import dev.waybill.json.Json;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Match;
import dev.waybill.test.Rule;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * One order and what the world has in store for it.
 *
 * @param amount decimal text, two places
 */
record Order(Fate fate, String amount, String currency) {
    static final String CHARGES = "/charges";
    /** Acme Bank's. */
    static final String TRANSFERS = "/transfers";
    static final String SHIPMENTS = "/shipments";
    static final String KEY_HEADER = "Idempotency-Key";

    enum Fate {
        NORMAL("A", "A"),
        ANSWER_LOST("B", "B lost"),
        SWALLOWED("C", "C never"),
        KILLED("D", "D kill -9"),
        DECLINED("E", "E declined");

        private final String letter;
        private final String title;

        Fate(String letter, String title) {
            this.letter = letter;
            this.title = title;
        }

        String letter() {
            return letter;
        }

        String title() {
            return title;
        }
    }

    /** The five, in the order they are placed: the seed decides the amounts and who comes first; the one that dies is the last. */
    static List<Order> five(long seed) {
        Random random = new Random(seed);
        List<Order> orders = new ArrayList<>();
        for (Fate fate : Fate.values()) {
            orders.add(new Order(fate, BigDecimal.valueOf(1_000 + random.nextInt(9_000), 2).toPlainString(), "EUR"));
        }
        Order last = orders.remove(Fate.KILLED.ordinal());
        Collections.shuffle(orders, random);
        orders.add(last);
        return List.copyOf(orders);
    }

    static Order of(List<Order> orders, Fate fate) {
        return orders.stream().filter(order -> order.fate == fate).findFirst().orElseThrow();
    }

    String name() {
        return "order-" + fate.letter();
    }

    /** Acme Pay knows keys and shows its record; Acme Bank, through which the order of the kill is paid, knows none and sends a statement. */
    String chargePath() {
        return fate == Fate.KILLED ? TRANSFERS : CHARGES;
    }

    String chargeKey() {
        return "charge-" + name();
    }

    String shipKey() {
        return "ship-" + name();
    }

    String money() {
        return amount + " " + currency;
    }

    /** As a run's data, and as the body of the charge. */
    ObjectNode json() {
        return Json.NODES
                .objectNode()
                .put("order", name())
                .put("amount", amount)
                .put("currency", currency)
                .put("card", fate == Fate.DECLINED ? "tok_declined" : "tok_visa");
    }

    static ArrayNode json(List<Order> orders) {
        ArrayNode json = Json.NODES.arrayNode();
        orders.forEach(order -> json.add(order.json().put("fate", order.fate.name())));
        return json;
    }

    static List<Order> read(ArrayNode json) {
        List<Order> orders = new ArrayList<>();
        json.forEach(one -> orders.add(new Order(
                Fate.valueOf(one.get("fate").asString()), one.get("amount").asString(), one.get("currency").asString())));
        return orders;
    }

    /** What Acme Pay does, the same for every strategy: each fault strikes the first charge of its order and nothing else. */
    static Rule[] script(List<Order> orders, KillAt killAt) {
        List<Rule> rules = new ArrayList<>();
        rules.add(first(of(orders, Fate.ANSWER_LOST), Behaviour.applyThenDrop()));
        rules.add(first(of(orders, Fate.SWALLOWED), Behaviour.dropBeforeApply()));
        if (killAt == KillAt.BOOKED) {
            rules.add(first(of(orders, Fate.KILLED), Behaviour.pauseAfterBooking()));
        }
        return rules.toArray(Rule[]::new);
    }

    private static Rule first(Order order, Behaviour behaviour) {
        return Rule.on(Match.of("POST", order.chargePath()).bodyContaining('"' + order.name() + '"')).then(behaviour);
    }
}

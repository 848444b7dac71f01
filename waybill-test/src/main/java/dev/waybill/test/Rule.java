package dev.waybill.test;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What happens to the requests that match: the first gets the first behaviour, the second the second. When they are used up the rule is
 * over, unless its last one holds for ever. Of several rules the first that matches and is not over decides.
 *
 * @param also a condition that is code; such a rule stays in its process
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Rule(
        Match match, @JsonIgnore @Nullable Predicate<Delivery> also, List<Behaviour> behaviours, boolean lastHoldsForEver) {

    public Rule {
        behaviours = List.copyOf(behaviours);
    }

    public static Rule on(String method, String path) {
        return on(Match.of(method, path));
    }

    public static Rule on(Match match) {
        return new Rule(match, null, List.of(), false);
    }

    public static Rule on(Predicate<Delivery> condition) {
        return new Rule(Match.ANY, condition, List.of(), false);
    }

    /** Every request there is. */
    public static Rule onAny() {
        return on(Match.ANY);
    }

    public Rule bodyContaining(String text) {
        return new Rule(match.bodyContaining(text), also, behaviours, lastHoldsForEver);
    }

    /** Adds to the sequence. */
    public Rule then(Behaviour... next) {
        List<Behaviour> all = new ArrayList<>(behaviours);
        Collections.addAll(all, next);
        return new Rule(match, also, all, false);
    }

    /** Ends the sequence with one for all further requests. */
    public Rule thenAlways(Behaviour last) {
        return new Rule(match, also, then(last).behaviours, true);
    }

    /** Ordinary answers up to the {@code n}th matching request (1 = the first), which gets {@code behaviour}. */
    public Rule onNth(int n, Behaviour behaviour) {
        Rule rule = this;
        for (int i = 1; i < n; i++) {
            rule = rule.then(Behaviour.normal());
        }
        return rule.then(behaviour);
    }

    boolean matches(Delivery delivery) {
        return match.test(delivery) && (also == null || also.test(delivery));
    }

    /** @return null when the rule is over for the {@code used + 1}th match */
    @Nullable Behaviour behaviour(int used) {
        if (used < behaviours.size()) {
            return behaviours.get(used);
        }
        return lastHoldsForEver ? behaviours.getLast() : null;
    }
}

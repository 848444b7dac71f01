package dev.waybill.operate;

import dev.waybill.model.EffectKind;
import dev.waybill.store.Queries.EffectView;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which decisions about effects take two people: one proposes, another one approves.
 *
 * @param expiry how long a proposal may be approved, by the database's clock
 */
public record FourEyes(List<Rule> rules, Duration expiry) {
    public static final FourEyes NONE = new FourEyes(List.of(), Duration.ofDays(1));

    /**
     * Everything that is given must fit.
     *
     * @param kind        or null
     * @param destination beginning of the receipt's destination, with or without the handler's name; or null
     * @param above       the receipt's amount is more than this, or cannot be compared with it; or null
     */
    public record Rule(@Nullable EffectKind kind, @Nullable String destination, @Nullable Money above) {
        boolean covers(EffectView effect) {
            return (kind == null || kind == effect.receipt().kind())
                    && (destination == null || ofDestination(effect, destination))
                    && (above == null || exceeds(Money.of(effect), above));
        }

        /** What cannot be compared is not below the limit. */
        private static boolean exceeds(@Nullable Money amount, Money limit) {
            return amount == null
                    || limit.currency() != null && !limit.currency().equals(amount.currency())
                    || amount.amount().abs().compareTo(limit.amount()) > 0;
        }
    }

    boolean requires(EffectView effect) {
        return rules.stream().anyMatch(rule -> rule.covers(effect));
    }

    /** The API key's name: what follows its slash the caller says about itself. */
    static String principal(String actor) {
        int slash = actor.indexOf('/');
        return slash < 0 ? actor : actor.substring(0, slash);
    }

    static boolean ofDestination(EffectView view, String prefix) {
        String destination = view.receipt().destination();
        return destination.startsWith(prefix) || destination.startsWith(view.receipt().handler() + " " + prefix);
    }
}

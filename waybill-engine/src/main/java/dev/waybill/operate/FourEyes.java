package dev.waybill.operate;

import dev.waybill.json.Json;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.ReceiptRow;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Whose decisions need a second person. Where a rule applies, a resolution becomes a proposal that another principal approves.
 *
 * @param expiry how long a proposal may be approved, in database time
 */
public record FourEyes(List<Rule> rules, Duration expiry) {
    public static final FourEyes NONE = new FourEyes(List.of(), Duration.ofHours(24));

    /**
     * Applies when everything that is given fits.
     *
     * @param tenant      null = every tenant
     * @param kind        wire name of the effect's kind, or null
     * @param destination a destination, or the beginning of several followed by {@code *}; null = every one
     * @param label       a label's name, with {@code above}
     * @param above       applies beyond this amount; what carries no such label, or one that is no number, cannot be shown to be below
     *                    the limit and counts as above it
     */
    public record Rule(
            String name,
            @Nullable String tenant,
            @Nullable String kind,
            @Nullable String destination,
            @Nullable String label,
            @Nullable BigDecimal above) {

        boolean fits(EffectView effect) {
            ReceiptRow receipt = effect.receipt();
            return (tenant == null || tenant.equals(effect.instance().tenant()))
                    && (kind == null || kind.equals(receipt.kind().wire()))
                    && (destination == null || Destinations.fits(destination, receipt.destination()))
                    && (label == null || above == null || amount(receipt, label).map(it -> it.compareTo(above) > 0).orElse(true));
        }
    }

    /** The first rule that asks for a second person. */
    Optional<Rule> ruleFor(EffectView effect) {
        return rules.stream().filter(rule -> rule.fits(effect)).findFirst();
    }

    /** A label's value as an exact number, never by way of a double; {@code 12.50 EUR} is 12.50. */
    static Optional<BigDecimal> amount(ReceiptRow receipt, String label) {
        return label(receipt, label).map(text -> text.replaceFirst("\\s+[A-Za-z]{3}$", "")).flatMap(Amounts::exact);
    }

    static Optional<String> label(ReceiptRow receipt, String label) {
        JsonNode value = receipt.labels() == null ? null : Json.parse(receipt.labels()).get(label);
        return value == null || !value.isValueNode() || value.isNull() ? Optional.empty() : Optional.of(value.asString());
    }

    /** Destinations as people name them. */
    static final class Destinations {
        private Destinations() {}

        /** The whole of it ({@code http_request https://host/path}) or only what follows the handler. */
        static boolean fits(String pattern, String destination) {
            return matches(pattern, destination) || matches(pattern, destination.substring(destination.indexOf(' ') + 1));
        }

        private static boolean matches(String pattern, String destination) {
            return pattern.endsWith("*")
                    ? destination.startsWith(pattern.substring(0, pattern.length() - 1))
                    : destination.equals(pattern);
        }
    }
}

package dev.waybill.operate;

import dev.waybill.json.Json;
import dev.waybill.json.SecretText;
import dev.waybill.store.Queries.EffectView;
import java.math.BigDecimal;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * An amount, exactly as it was written; it never goes through a binary fraction.
 *
 * @param currency upper case, or null when nobody named one
 */
public record Money(BigDecimal amount, @Nullable String currency) {
    private static final Pattern TEXT = Pattern.compile("([+-]?\\d{1,30}(?:\\.\\d{1,18})?)(?:\\s+([A-Za-z]{3,8}))?");

    /** Reads {@code 12.50} or {@code 12.50 EUR}; anything else, such as {@code 1,250.00}, is empty and not guessed at. */
    public static Optional<Money> parse(String text, @Nullable String currency) {
        Matcher matcher = TEXT.matcher(text.strip());
        if (!matcher.matches()) {
            return Optional.empty();
        }
        String named = matcher.group(2) != null ? matcher.group(2) : currency;
        return Optional.of(new Money(
                new BigDecimal(matcher.group(1)), named == null || named.isBlank() ? null : named.strip().toUpperCase(Locale.ROOT)));
    }

    /** What the receipt says: its labels say it for people; where they are silent, the frozen request's body speaks. */
    static @Nullable Money of(EffectView view) {
        JsonNode body = SecretText.masked(Json.parse(view.receipt().request())).path("body");
        for (JsonNode source : List.of(labels(view), body)) {
            String amount = text(source.get("amount"));
            if (amount != null) {
                String currency = text(source.get("currency"));
                return parse(amount, currency != null ? currency : text(body.get("currency"))).orElse(null);
            }
        }
        return null;
    }

    static JsonNode labels(EffectView view) {
        String labels = view.receipt().labels();
        return labels == null ? Json.NODES.objectNode() : Json.parse(labels);
    }

    static @Nullable String text(@Nullable JsonNode value) {
        return value == null || value.isNull() ? null : value.isNumber() ? value.decimalValue().toPlainString() : value.asString(null);
    }

    /** The same value, whatever the trailing zeros, in the same currency where both name one. */
    boolean agrees(Money other) {
        return amount.compareTo(other.amount) == 0 && (currency == null || other.currency == null || currency.equals(other.currency));
    }

    @Override
    public String toString() {
        return amount.toPlainString() + (currency == null ? "" : " " + currency);
    }
}

package dev.waybill.operate;

import java.math.BigDecimal;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

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

    /** The same value, whatever the trailing zeros, in the same currency where both name one. */
    boolean agrees(Money other) {
        return amount.compareTo(other.amount) == 0 && (currency == null || other.currency == null || currency.equals(other.currency));
    }

    @Override
    public String toString() {
        return amount.toPlainString() + (currency == null ? "" : " " + currency);
    }
}

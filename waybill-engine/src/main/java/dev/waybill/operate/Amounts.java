package dev.waybill.operate;

import java.math.BigDecimal;
import java.util.Optional;
import java.util.regex.Pattern;

/** Amounts as they are written, exact: no rounding, no thousands separators, no guess what a comma means. */
final class Amounts {
    private static final Pattern PLAIN = Pattern.compile("[+-]?\\d{1,30}(\\.\\d{1,18})?");

    private Amounts() {}

    static Optional<BigDecimal> exact(String text) {
        return PLAIN.matcher(text).matches() ? Optional.of(new BigDecimal(text)) : Optional.empty();
    }
}

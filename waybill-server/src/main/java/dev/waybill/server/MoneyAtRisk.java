package dev.waybill.server;

import dev.waybill.json.Json;
import dev.waybill.store.Queries.OpenEffect;
import java.math.BigDecimal;
import java.util.Optional;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/** What an unknown effect is about, from its labels {@code amount} (a decimal, as text or number) and {@code currency}. Exact. */
record MoneyAtRisk(String currency, BigDecimal amount) {
    private static final int MOST_DIGITS = 40;

    /** Empty when the labels do not say, or not in numbers. */
    static Optional<MoneyAtRisk> of(OpenEffect effect) {
        if (effect.labels() == null) {
            return Optional.empty();
        }
        try {
            JsonNode labels = Json.parse(effect.labels());
            String amount = labels.path("amount").asString("");
            String currency = labels.path("currency").asString("");
            // Plain decimals only: 1E+999999999 is a short text and an endless sum.
            boolean plain = amount.length() <= MOST_DIGITS && amount.matches("-?\\d+(\\.\\d+)?");
            return plain && !currency.isEmpty() ? Optional.of(new MoneyAtRisk(currency, new BigDecimal(amount))) : Optional.empty();
        } catch (JacksonException notJson) {
            return Optional.empty();
        }
    }
}

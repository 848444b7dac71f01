package dev.waybill.json;

import java.util.Optional;

/** Where secret values come from. Only a sender asks, right before it sends; a value never enters params, rows, hashes or logs. */
@FunctionalInterface
public interface SecretSource {
    /**
     * @param name as in {@code {{ secrets.NAME }}} or {@code credentials://NAME/FIELD} (then {@code NAME/FIELD})
     */
    Optional<String> secret(String tenant, String name);

    SecretSource NONE = (tenant, name) -> Optional.empty();
}

package dev.waybill.test;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Which requests, as data, so that it can cross to another process. Everything given must hold; null holds always.
 *
 * @param method       exact
 * @param path         exact, without the query
 * @param bodyContains text anywhere in the body
 * @param key          the Idempotency-Key, exact
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Match(@Nullable String method, @Nullable String path, @Nullable String bodyContains, @Nullable String key)
        implements Predicate<Delivery> {
    public static final Match ANY = new Match(null, null, null, null);

    public static Match of(String method, String path) {
        return new Match(method, path, null, null);
    }

    public Match bodyContaining(String text) {
        return new Match(method, path, text, key);
    }

    public Match withKey(String exactKey) {
        return new Match(method, path, bodyContains, exactKey);
    }

    @Override
    public boolean test(Delivery delivery) {
        return (method == null || method.equals(delivery.method()))
                && (path == null || path.equals(delivery.path()))
                && (bodyContains == null || delivery.text().contains(bodyContains))
                && (key == null || key.equals(delivery.idempotencyKey()));
    }
}

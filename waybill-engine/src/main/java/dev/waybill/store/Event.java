package dev.waybill.store;

import org.jspecify.annotations.Nullable;

/**
 * A row of the outbox: written in the transaction of the move it tells of.
 *
 * @param type    for example {@code instance.completed}, {@code instance.failed}, {@code effect.unknown}, {@code effect.contradiction}
 * @param payload JSON object text
 * @param subject the receipt id where the event is about one, or null
 */
public record Event(String type, String payload, @Nullable String subject) {}

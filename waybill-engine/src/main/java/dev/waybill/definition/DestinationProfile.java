package dev.waybill.definition;

import dev.waybill.definition.Sequence.OnConflict;
import dev.waybill.definition.Sequence.Resend;
import dev.waybill.definition.Sequence.Verifier;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What is known of a destination, once for each API (language.md, destination profile). Null: the profile says nothing of it. What a step
 * itself declares wins, field by field.
 *
 * @param name       for people
 * @param match      a handler, or {@code scheme://host:port/path} as it is compared: lower-case origin, no default port, no slash at the end
 * @param byUrl      whether {@code match} is an address
 * @param tenant     of a node's own profile: the only tenant it holds for; null = every one
 * @param ofNode     given to the node, so that it may be another one tomorrow; else it is part of an immutable sequence version
 * @param receiptId  the provider's own id in an answer
 * @param search     where an operator looks an effect up
 * @param document   as it was written, its preset put in
 */
public record DestinationProfile(
        String name,
        String match,
        boolean byUrl,
        @Nullable String tenant,
        boolean ofNode,
        @Nullable String keyHeader,
        @Nullable KeyRule keyRule,
        @Nullable Duration keyWindow,
        @Nullable Set<Integer> replayed,
        Map<Integer, String> statusMap,
        @Nullable Duration settle,
        @Nullable Verifier verify,
        @Nullable Resend resend,
        @Nullable OnConflict onConflict,
        @Nullable Expression receiptId,
        @Nullable SearchLink search,
        @Nullable Hold hold,
        JsonNode document) {

    /**
     * When a destination is held: {@code unknowns} effects that became unknown within {@code within}, by the database's clock.
     *
     * @param probe least time between two dispatches that are let through while it is held
     */
    public record Hold(int unknowns, Duration within, Duration probe) {}

    boolean matches(String destination) {
        return destination.equals(match) || byUrl && destination.startsWith(match + "/");
    }
}

package dev.waybill.lab.program;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * What really came of a program.
 *
 * @param output  of the run, or null
 * @param error   of the run when it failed, or null
 * @param outputs by block path
 * @param effects by block path
 * @param waits   {@code reason path} of everything it waits for
 */
public record Actual(
        String state,
        @Nullable JsonNode output,
        Expected.@Nullable Error error,
        Map<String, JsonNode> outputs,
        Map<String, Effect> effects,
        Set<String> waits) {

    /**
     * @param states  of its receipts by attempt
     * @param applied how often the provider booked it, or null when nobody knows
     * @param key     its idempotency key, or null
     * @param begun   when its first attempt began, on any one clock; null = not compared
     * @param ended   when its last attempt ended, on the same clock
     */
    public record Effect(
            List<String> states, @Nullable Integer applied, @Nullable String key, @Nullable Long begun, @Nullable Long ended) {}

    private static final JsonMapper MAPPER = JsonMapper.builder().build();

    /** An idempotency key as {@link Expected.Fact} has it: RUN for the name of the run; null when there is none. */
    static @Nullable String key(@Nullable String key, String run) {
        return key == null || key.isEmpty() ? null : key.replace(run, Program.RUN);
    }

    /** Error and waits from their JSON, as run views and store rows have them. */
    static Expected.@Nullable Error error(JsonNode error) {
        return error.isObject() ? new Expected.Error(error.path("code").asString(""), error.path("path").asString("")) : null;
    }

    static Set<String> waits(JsonNode reasons) {
        Set<String> waits = new TreeSet<>();
        reasons.forEach(reason -> waits.add(reason.path("reason").asString("") + " " + reason.path("path").asString("")));
        return waits;
    }

    /**
     * From a store dump as waybill-check reads it (JSON lines, each with its {@code table}).
     *
     * @param id      of the run
     * @param run     what its data named it ({@link Program#data(String)})
     * @param applied how often the provider booked what this path asked for
     * @throws IllegalArgumentException when the dump has no such run
     */
    public static Actual of(List<? extends JsonNode> dump, String id, String run, ToIntFunction<String> applied) {
        JsonNode instance = null;
        Map<String, Map<Integer, String>> states = new TreeMap<>();
        Map<String, @Nullable String> keys = new LinkedHashMap<>();
        Map<String, Long> begun = new LinkedHashMap<>();
        Map<String, Long> ended = new LinkedHashMap<>();
        Map<String, Integer> latest = new LinkedHashMap<>();
        Map<String, JsonNode> outputs = new TreeMap<>();
        for (JsonNode row : dump) {
            String table = row.path("table").asString("");
            if (table.equals("instances") && row.path("id").asString("").equals(id)) {
                instance = row;
            }
            if (!row.path("instance_id").asString("").equals(id)) {
                continue;
            }
            String path = row.path("path").asString("");
            switch (table) {
                case "receipts" -> {
                    states.computeIfAbsent(path, p -> new TreeMap<>()).putIfAbsent(row.path("attempt").asInt(), row.path("state").asString("dispatched"));
                    keys.put(path, key(row.path("idempotency_key").asString(""), run));
                    begun.merge(path, nanos(row), Math::min);
                }
                case "journal" -> {
                    int position = row.path("attempt").asInt() * 1_000 + row.path("n").asInt();
                    states.computeIfAbsent(path, p -> new TreeMap<>());
                    String known = path + "#" + row.path("attempt").asInt();
                    if (latest.merge(known, position, Math::max) == position) {
                        states.get(path).put(row.path("attempt").asInt(), row.path("to_state").asString(""));
                    }
                    ended.merge(path, nanos(row), Math::max);
                    if (row.path("output").isString()) {
                        outputs.put(path, MAPPER.readTree(row.path("output").asString()));
                    }
                }
                case "block_outputs" -> {
                    String known = path + "$";
                    if (latest.merge(known, row.path("n").asInt(), Math::max) == row.path("n").asInt() && row.path("kind").asString("").equals("output")) {
                        outputs.put(path, MAPPER.readTree(row.path("body").asString("null")));
                    }
                }
                default -> {}
            }
        }
        if (instance == null) {
            throw new IllegalArgumentException("the dump has no run " + id);
        }
        Map<String, Effect> effects = new TreeMap<>();
        states.forEach((path, list) -> effects.put(
                path, new Effect(new ArrayList<>(list.values()), applied.applyAsInt(path), keys.get(path), begun.get(path), ended.get(path))));
        JsonNode outcome = MAPPER.readTree(instance.path("outcome").asString("null"));
        String state = instance.path("state").asString("");
        return new Actual(
                state, state.equals("completed") ? outcome.path("output") : null, state.equals("failed") ? error(outcome.path("error")) : null,
                outputs, effects,
                state.equals("waiting") ? waits(MAPPER.readTree(instance.path("reasons").asString("null"))) : Set.of());
    }

    private static long nanos(JsonNode row) {
        Instant at = Instant.parse(row.path("at").asString());
        return at.getEpochSecond() * 1_000_000_000L + at.getNano();
    }
}

package dev.waybill.recorder;

import dev.waybill.json.Json;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Proof;
import dev.waybill.model.Reply;
import dev.waybill.model.WaybillException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** An outcome as UTF-8 JSON and back, without loss; and the shorter outcome that is left when the answer is too large to keep. */
final class OutcomeText {
    private OutcomeText() {}

    /** At most {@code maxBytes}; of a larger one what was said without what it came with. */
    static byte[] write(Outcome outcome, int maxBytes) {
        byte[] text = bodyBytes(outcome) > maxBytes ? new byte[0] : Json.writeBytes(json(outcome));
        if (text.length == 0 || text.length > maxBytes) {
            text = Json.writeBytes(json(abridged(outcome)));
        }
        return text;
    }

    private static int bodyBytes(Outcome outcome) {
        Reply reply = outcome.reply();
        return reply == null || reply.body() == null ? 0 : reply.body().length;
    }

    /**
     * Applied stays applied and no stays no; what the provider said is lost, so an applied one waits for somebody to supply its output
     * (semantics.md section 4, output_lost).
     */
    static Outcome abridged(Outcome outcome) {
        String lost = "the engine died before the answer was stored; it was complete, and too large for the flight recorder";
        return switch (outcome) {
            case Outcome.Committed committed -> new Outcome.OutputLost(lost, abridged(committed.reply()));
            case Outcome.OutputLost(String _, Reply reply) -> new Outcome.OutputLost(lost, abridged(reply));
            case Outcome.OutputUnusable(Problem problem, String id, Reply reply) ->
                new Outcome.OutputUnusable(abridged(problem), id, abridged(reply));
            case Outcome.NotApplied(Proof proof, Problem problem, Duration retryAfter, Reply reply) ->
                new Outcome.NotApplied(proof, abridged(problem), retryAfter, abridged(reply));
            case Outcome.Unknown(String reason, String _, Reply reply) -> new Outcome.Unknown(reason, lost, abridged(reply));
        };
    }

    private static @Nullable Reply abridged(@Nullable Reply reply) {
        return reply == null ? null : new Reply(reply.status(), Map.of(), null, true);
    }

    private static Problem abridged(Problem problem) {
        return new Problem(problem.code(), "the message was too large for the flight recorder", problem.retryable(), null);
    }

    private static ObjectNode json(Outcome outcome) {
        ObjectNode json = Json.NODES.objectNode();
        switch (outcome) {
            case Outcome.Committed(JsonNode output, String id, Reply _) -> {
                json.put("is", "committed").put("id", id);
                json.set("output", output);
            }
            case Outcome.OutputLost(String why, Reply _) -> json.put("is", "output_lost").put("message", why);
            case Outcome.OutputUnusable(Problem problem, String id, Reply _) -> {
                json.put("is", "output_unusable").put("id", id);
                json.set("problem", problem(problem));
            }
            case Outcome.NotApplied(Proof proof, Problem problem, Duration retryAfter, Reply _) -> {
                json.put("is", "not_applied").put("proof", proof.wire());
                json.set("problem", problem(problem));
                if (retryAfter != null) json.put("retry_after_ms", retryAfter.toMillis());
            }
            case Outcome.Unknown(String reason, String message, Reply _) ->
                json.put("is", "unknown").put("reason", reason).put("message", message);
        }
        Reply reply = outcome.reply();
        if (reply != null) {
            ObjectNode raw = json.putObject("reply").put("status", reply.status()).put("truncated", reply.truncated());
            ArrayNode headers = raw.putArray("headers");
            reply.headers().forEach((name, values) -> {
                ArrayNode header = headers.addArray().add(name);
                values.forEach(header::add);
            });
            if (reply.body() != null) raw.put("body", Base64.getEncoder().encodeToString(reply.body()));
        }
        return json;
    }

    private static ObjectNode problem(Problem problem) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("code", problem.code()).put("message", problem.message()).put("retryable", problem.retryable());
        if (problem.details() != null) json.set("details", problem.details());
        return json;
    }

    /** Empty when this is not one of ours: then nothing is said. */
    static Optional<Outcome> read(byte[] text) {
        try {
            JsonNode json = Json.parseDefinition(text);
            Reply reply = reply(json.get("reply"));
            String id = json.path("id").asString(null);
            String message = json.path("message").asString("");
            return Optional.ofNullable(switch (json.path("is").asString("")) {
                case "committed" -> new Outcome.Committed(json.path("output"), id, reply);
                case "output_lost" -> new Outcome.OutputLost(message, reply);
                case "output_unusable" -> new Outcome.OutputUnusable(readProblem(json.path("problem")), id, reply);
                case "not_applied" -> new Outcome.NotApplied(
                        Proof.ofWire(json.path("proof").asString()), readProblem(json.path("problem")),
                        json.has("retry_after_ms") ? Duration.ofMillis(json.path("retry_after_ms").asLong()) : null, reply);
                case "unknown" -> new Outcome.Unknown(json.path("reason").asString(""), message, reply);
                default -> null;
            });
        } catch (WaybillException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static @Nullable Reply reply(@Nullable JsonNode json) {
        if (json == null) return null;
        Map<String, List<String>> headers = new LinkedHashMap<>();
        for (JsonNode header : json.path("headers")) {
            List<String> values = new ArrayList<>();
            header.valueStream().skip(1).forEach(value -> values.add(value.asString()));
            headers.put(header.path(0).asString(), values);
        }
        byte[] body = json.has("body") ? Base64.getDecoder().decode(json.path("body").asString()) : null;
        return new Reply(json.path("status").asInt(), headers, body, json.path("truncated").asBoolean());
    }

    private static Problem readProblem(JsonNode json) {
        return new Problem(
                json.path("code").asString(""), json.path("message").asString(""), json.path("retryable").asBoolean(), json.get("details"));
    }
}

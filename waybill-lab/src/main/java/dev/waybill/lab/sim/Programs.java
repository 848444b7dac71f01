package dev.waybill.lab.sim;

import dev.waybill.json.Json;
import java.util.SplittableRandom;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Small sequences of guarded steps; no two positions of two runs ask the provider for the same thing. */
final class Programs {
    private static final int TIMEOUT_MILLIS = 2_000;
    /** A packet is late by at most 3 s, and what is applied late by another 3 s. */
    private static final int SETTLE_MILLIS = 6_500;

    private final SplittableRandom random;
    private int steps;

    Programs(SplittableRandom random) {
        this.random = random;
    }

    ObjectNode document(String name, int shape) {
        steps = 0;
        ObjectNode document = Json.NODES.objectNode().put("name", name);
        ArrayNode blocks = document.putArray("blocks");
        switch (shape) {
            case 0 -> sequence(blocks, 1, "");
            case 1 -> sequence(blocks, 2 + random.nextInt(3), "");
            case 2 -> parallel(blocks);
            case 3 -> forEach(blocks);
            case 4 -> tryCatch(blocks);
            default -> {
                sequence(blocks, 1, "");
                blocks.addObject().put("type", "step").put("id", "nap" + steps++).put("handler", "sleep").putObject("params").put("duration", 300);
                parallel(blocks);
                sequence(blocks, 1, "");
            }
        }
        return document;
    }

    static final int SHAPES = 6;

    static ObjectNode data(String order) {
        ObjectNode data = Json.NODES.objectNode().put("order", order);
        data.putArray("items").add("a").add("b").add("c");
        return data;
    }

    private void sequence(ArrayNode blocks, int length, String item) {
        for (int i = 0; i < length; i++) {
            blocks.add(step(item));
        }
    }

    private void parallel(ArrayNode blocks) {
        ArrayNode branches = block(blocks, "parallel").putArray("branches");
        for (int i = 0; i < 2; i++) {
            sequence(branches.addArray(), 1 + random.nextInt(2), "");
        }
    }

    private void forEach(ArrayNode blocks) {
        ObjectNode each = block(blocks, "for_each").put("collection", "{{ data.items }}").put("concurrency", 1 + random.nextInt(3));
        sequence(each.putArray("body"), 1, "{{ item }}");
    }

    private void tryCatch(ArrayNode blocks) {
        ObjectNode attempt = block(blocks, "try_catch");
        sequence(attempt.putArray("try_block"), 2, "");
        sequence(attempt.putArray("catch_block"), 1, "");
        sequence(attempt.putArray("finally_block"), random.nextInt(2), "");
    }

    private ObjectNode block(ArrayNode blocks, String type) {
        return blocks.addObject().put("type", type).put("id", type + steps++);
    }

    private ObjectNode step(String item) {
        String id = "s" + steps++;
        ObjectNode step = Json.NODES.objectNode().put("type", "step").put("id", id).put("handler", "http_request");
        ObjectNode params = step.putObject("params").put("method", "POST");
        params.put("url", (random.nextInt(4) == 0 ? SimTransport.NAME : SimTransport.ADDRESS) + "/" + id);
        params.putObject("body").put("order", "{{ data.order }}").put("item", item);
        step.putObject("retry").put("max_attempts", 4).put("initial_backoff", 50);
        step.put("timeout", TIMEOUT_MILLIS);
        step.putObject("effect").put("settle", SETTLE_MILLIS);
        return step;
    }
}

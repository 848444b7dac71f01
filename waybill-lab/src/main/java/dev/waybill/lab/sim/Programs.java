package dev.waybill.lab.sim;

import dev.waybill.json.Json;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Small sequences of guarded steps; no two positions of two runs ask the provider for the same thing. */
final class Programs {
    private static final int TIMEOUT_MILLIS = 2_000;
    /** A packet is late by at most 3 s, and what is applied late by another 3 s. */
    private static final int SETTLE_MILLIS = 6_500;

    /** A look-up may be behind by another 3 s. */
    private static final int SETTLE_ASKED_MILLIS = 9_500;

    private final SplittableRandom random;
    /** What steps declare to be healed; null = nothing. */
    private final @Nullable SplittableRandom healing;
    private int steps;

    Programs(SplittableRandom random, @Nullable SplittableRandom healing) {
        this.random = random;
        this.healing = healing;
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
        data.put("business", "b" + order.charAt(order.length() - 1) % 2);
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
        params.putObject("headers").put("X-Account", "{{ secrets.TOKEN }}");
        params.putObject("body").put("order", "{{ data.order }}").put("item", item);
        step.putObject("retry").put("max_attempts", 4).put("initial_backoff", 50);
        step.put("timeout", TIMEOUT_MILLIS);
        ObjectNode effect = step.putObject("effect").put("settle", SETTLE_MILLIS);
        if (healing != null) {
            heal(step, effect, "/" + id, item, healing);
        }
        return step;
    }

    private static void heal(ObjectNode step, ObjectNode effect, String path, String item, SplittableRandom healing) {
        boolean keyed = healing.nextInt(3) > 0;
        boolean asked = healing.nextInt(3) > 0;
        String at = keyed ? Memory.KEYED + path : path;
        ObjectNode params = (ObjectNode) step.get("params");
        params.put("url", params.get("url").asString().replace(path, at));
        effect.put("settle", SETTLE_ASKED_MILLIS);
        if (keyed) {
            effect.putObject("idempotency")
                    .put("key", "{{ data.order }}-" + path.substring(1) + (item.isEmpty() ? "" : "-" + item))
                    .put("window", Memory.WINDOW_SECONDS + "s");
            effect.putObject("resend").put("max", 1 + healing.nextInt(5)).put("backoff", 100 + healing.nextInt(3_000));
        }
        if (asked) {
            ObjectNode verify = effect.putObject("verify");
            verify.putObject("params")
                    .put("method", "GET")
                    .put("url", SimTransport.ADDRESS + "/look?path=" + at.replace("/", "%2F") + "&order={{ data.order }}&item=" + item);
            verify.put("landed", "= body.count > 0").put("absent", "= status = 200 and body.count = 0");
            verify.put("output", "= body.items[0]").put("receipt_id", "= body.items[0].id");
            verify.put("every", 200 + healing.nextInt(2_000)).put("negative_reads", 1 + healing.nextInt(3)).put("timeout", 1_000);
            verify.put("give_up", (15 + healing.nextInt(45)) + "s").put("before", healing.nextInt(4) == 0);
            if (healing.nextInt(3) == 0) {
                effect.put("on_conflict", "verify");
            }
        }
        ArrayNode list = Json.NODES.arrayNode();
        if (asked && healing.nextBoolean()) {
            list.addObject().putObject("verify").put("max_reads", 3 + healing.nextInt(5));
        }
        if (keyed && healing.nextBoolean()) {
            list.addObject().putObject("resend").put("max", 1 + healing.nextInt(2));
        }
        if (!list.isEmpty()) {
            list.add(healing.nextInt(6) == 0 ? "fail" : "wait");
            step.set("on_unknown", list);
        }
    }

    /** One content that may happen once: by two steps of a run, or by all runs of one business key. */
    ObjectNode guarded(String name, boolean tenant) {
        steps = 0;
        ObjectNode document = Json.NODES.objectNode().put("name", name);
        ObjectNode invariant = document.putArray("invariants").addObject().put("name", "once").put("commit_guard", true);
        ObjectNode rule = invariant.putObject("rule").put("type", "effect_at_most_once").put("kind", "http");
        ArrayNode blocks = document.putArray("blocks");
        if (tenant) {
            rule.put("scope", "tenant").put("key", "= 'once-' & data.business").put("window", "1h");
            blocks.add(same("{{ data.business }}"));
        } else {
            ArrayNode branches = block(blocks, "parallel").putArray("branches");
            List.of(1, 2).forEach(branch -> branches.addArray().add(same("{{ data.order }}")));
        }
        return document;
    }

    private ObjectNode same(String order) {
        ObjectNode step = step("");
        ObjectNode params = (ObjectNode) step.get("params");
        params.put("url", SimTransport.ADDRESS + "/same");
        params.putObject("body").put("order", order).put("item", "");
        ObjectNode effect = step.putObject("effect").put("settle", SETTLE_ASKED_MILLIS);
        ObjectNode verify = effect.putObject("verify");
        verify.putObject("params").put("method", "GET").put("url", SimTransport.ADDRESS + "/look?path=%2Fsame&order=" + order + "&item=");
        verify.put("landed", "= body.count > 0").put("absent", "= status = 200 and body.count = 0").put("output", "= body.items[0]");
        verify.put("every", 500).put("give_up", "30s");
        step.remove("on_unknown");
        return step;
    }
}

package dev.waybill.lab.torture;

import dev.waybill.json.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Small random sequences of guarded steps; no two positions of two runs ask the provider for the same thing. */
final class Programs {
    /** An unsent intent lapses after 2 s, the call ends after this one. */
    private static final int STEP_TIMEOUT_MILLIS = 2_000;

    /** Then a road may hold a request back, and the provider lands within its bound. */
    private static final int SETTLE_MILLIS = NetworkHand.LONGEST_ON_THE_ROAD_MILLIS + ProviderMain.LATEST_LANDING_MILLIS + 500;

    private static final int SHAPES = 8;

    /** One in so many steps is sent again under its key, as many are looked up, before a person is asked. */
    private static final int HEALED = 6;

    private final RandomGenerator random;
    private final List<Integer> roads;
    private int steps;

    /** @param roads ports on loopback that lead to the provider */
    Programs(RandomGenerator random, List<Integer> roads) {
        this.random = random;
        this.roads = roads;
    }

    /** @return documents named {@code program-0 ..} */
    List<JsonNode> documents(int count) {
        List<JsonNode> documents = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            steps = 0;
            ObjectNode document = Json.NODES.objectNode().put("name", name(i));
            ArrayNode blocks = document.putArray("blocks");
            // Each shape is there, whatever the seed.
            switch (i % SHAPES) {
                case 0 -> sequence(blocks, 1 + random.nextInt(4), "");
                case 1 -> parallel(blocks);
                case 2 -> forEach(blocks);
                case 3 -> tryCatch(blocks);
                case 4 -> sequence(blocks, 5, "");
                case 5 -> {
                    sequence(blocks, 1, "");
                    sleep(blocks);
                    sequence(blocks, 2, "");
                }
                case 6 -> {
                    sequence(blocks, 1, "");
                    router(blocks);
                }
                default -> {
                    sequence(blocks, 1, "");
                    parallel(blocks);
                    sequence(blocks, 1, "");
                }
            }
            documents.add(document);
        }
        return documents;
    }

    static String name(int program) {
        return "program-" + program;
    }

    static ObjectNode data(String order) {
        ObjectNode data = Json.NODES.objectNode().put("order", order).put("choice", Math.floorMod(order.hashCode(), 3));
        data.putArray("items").add("a").add("b").add("c");
        return data;
    }

    private void sequence(ArrayNode blocks, int length, String item) {
        for (int i = 0; i < length; i++) {
            blocks.add(step(item));
        }
    }

    private void parallel(ArrayNode blocks) {
        ObjectNode parallel = block(blocks, "parallel");
        ArrayNode branches = parallel.putArray("branches");
        for (int i = 0; i < 2; i++) {
            ArrayNode branch = branches.addArray();
            sequence(branch, 1 + random.nextInt(2), "");
            if (random.nextInt(3) == 0) {
                sleep(branch);
                sequence(branch, 1, "");
            }
        }
    }

    /** A timer: the run is given up and claimed again. */
    private void sleep(ArrayNode blocks) {
        ObjectNode sleep = blocks.addObject().put("type", "step").put("id", "t" + steps++).put("handler", "sleep");
        sleep.putObject("params").put("duration", 200 + random.nextInt(1_500));
    }

    private void router(ArrayNode blocks) {
        ObjectNode router = block(blocks, "router");
        ArrayNode routes = router.putArray("routes");
        for (int i = 0; i < 2; i++) {
            sequence(routes.addObject().put("condition", "data.choice = " + i).putArray("blocks"), 1 + random.nextInt(2), "");
        }
        sequence(router.putArray("default"), 1, "");
    }

    private void forEach(ArrayNode blocks) {
        ObjectNode each = block(blocks, "for_each").put("collection", "{{ data.items }}").put("concurrency", 1 + random.nextInt(3));
        sequence(each.putArray("body"), 1 + random.nextInt(2), "{{ item }}");
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
        // A name needs a look-up, so that this intent cannot ride with the settle before it.
        params.put("url", "http://" + (random.nextInt(4) == 0 ? "localhost" : "127.0.0.1") + ":"
                + roads.get(random.nextInt(roads.size())) + "/" + id);
        params.putObject("body").put("order", "{{ data.order }}").put("item", item);
        step.putObject("retry").put("max_attempts", 4).put("initial_backoff", 50);
        step.put("timeout", STEP_TIMEOUT_MILLIS);
        ObjectNode effect = step.putObject("effect").put("settle", SETTLE_MILLIS);
        int healing = random.nextInt(HEALED);
        if (healing < 2) {
            effect.putObject("idempotency").put("key", "{{ data.order }}-" + id + (item.isEmpty() ? "" : "-" + item)).put("window", "24h");
        }
        if (healing == 0) {
            effect.putObject("resend").put("max", 3).put("backoff", 100);
        } else if (healing == 1) {
            ObjectNode verify = effect.putObject("verify");
            verify.putObject("params").put("method", "GET").put("url", params.path("url").asString() + "?key={{ key }}");
            verify.put("landed", "= body.count > 0").put("absent", "= body.count = 0").put("output", "= body.items[0]");
            verify.put("receipt_id", "= body.items[0].id").put("every", 250);
        }
        return step;
    }
}

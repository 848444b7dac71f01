package dev.waybill.lab.program;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Writes a random sequence that uses what the engine can do, with the data and the provider's script. Blocks read only what no branch
 * beside them writes; everything else is left to chance.
 */
final class Generator {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final int MOST_ITEMS = 4;

    private final SplittableRandom random;
    private final Options options;
    private final Steps steps;
    private final ObjectNode document = NODES.objectNode();
    private final ObjectNode data = NODES.objectNode();
    private final Script script;
    private final Set<String> features = new TreeSet<>();
    private int blocks;
    private int names;

    Generator(long seed, Options options, String name) {
        this.random = new SplittableRandom(seed);
        this.options = options;
        this.script = new Script(seed);
        this.steps = new Steps(random, options, script, features);
        data();
        document.put("name", name);
        if (options.calm() && chance(8)) {
            document.put("on_unknown", "fail");
            use("sequence on_unknown");
        } else if (chance(4)) {
            document.putArray("on_unknown").add("wait");
        }
        if (chance(5)) {
            ObjectNode schema = document.putObject("input_schema").put("type", "object");
            schema.putArray("required").add("n");
            schema.putObject("properties").putObject("n").put("type", "integer");
            use("input_schema");
        }
        list(document.putArray("blocks"), options.maxDepth(), Names.of(data), 5);
    }

    ObjectNode document() {
        return document;
    }

    ObjectNode data() {
        if (data.isEmpty()) {
            data.put("run", Program.RUN).put("n", random.nextInt(10)).put("m", random.nextInt(10));
            data.put("s", "Ab" + random.nextInt(10)).put("flag", random.nextBoolean());
            ArrayNode nums = data.putArray("nums");
            int count = random.nextInt(MOST_ITEMS + 1);
            for (int i = 0; i < count; i++) {
                nums.add(random.nextInt(10));
            }
            ArrayNode rows = data.putArray("rows");
            count = 1 + random.nextInt(3);
            for (int i = 0; i < count; i++) {
                rows.addObject().put("n", random.nextInt(10)).put("id", "row" + i);
            }
        }
        return data;
    }

    Script script() {
        return script;
    }

    Set<String> features() {
        return features;
    }

    private boolean chance(int oneIn) {
        return random.nextInt(oneIn) == 0;
    }

    private void use(String feature) {
        features.add(feature);
    }

    private String id(String kind) {
        return kind + ++names;
    }

    // --- lists of blocks -------------------------------------------------------------------------------------------------------

    private void list(ArrayNode list, int depth, Names scope, int most) {
        int length = 1 + random.nextInt(most);
        for (int i = 0; i < length && blocks < options.maxBlocks(); i++) {
            blocks++;
            switch (depth > 0 ? random.nextInt(15) : 15) {
                case 0, 1 -> parallel(list.addObject(), depth, scope);
                case 2 -> router(list.addObject(), depth, scope);
                case 3, 4 -> tryCatch(list.addObject(), depth, scope);
                case 5, 6 -> forEach(list.addObject(), depth, scope);
                case 7 -> loop(list, depth, scope);
                default -> steps.step(list.addObject(), scope, this::id);
            }
        }
    }

    private static ObjectNode block(ObjectNode block, String type, String id) {
        return block.put("type", type).put("id", id);
    }

    private void parallel(ObjectNode block, int depth, Names scope) {
        use("parallel");
        block(block, "parallel", id("p"));
        ArrayNode branches = block.putArray("branches");
        List<Names> inside = new ArrayList<>();
        int count = 2 + random.nextInt(2);
        for (int i = 0; i < count; i++) {
            Names branch = scope.branch();
            list(branches.addArray(), depth - 1, branch, 3);
            inside.add(branch);
        }
        inside.forEach(scope::joined);
    }

    private void router(ObjectNode block, int depth, Names scope) {
        use("router");
        block(block, "router", id("r"));
        ArrayNode routes = block.putArray("routes");
        List<Names> inside = new ArrayList<>();
        int count = 1 + random.nextInt(2);
        for (int i = 0; i < count; i++) {
            ObjectNode route = routes.addObject();
            if (chance(40)) {
                route.put("condition", "nowhere.x = 1");
                use("fault in route");
            } else {
                route.put("condition", steps.condition(scope));
            }
            Names way = scope.inside();
            list(route.putArray("blocks"), depth - 1, way, 2);
            inside.add(way);
        }
        if (!chance(3)) {
            Names way = scope.inside();
            list(block.putArray("default"), depth - 1, way, 2);
            inside.add(way);
        }
        inside.forEach(scope::left);
    }

    private void tryCatch(ObjectNode block, int depth, Names scope) {
        use("try_catch");
        block(block, "try_catch", id("t"));
        Names tried = scope.inside();
        tried.risky = true;
        list(block.putArray("try_block"), depth - 1, tried, 3);
        scope.left(tried);
        if (!chance(6)) {
            Names catching = scope.inside();
            catching.error = true;
            ArrayNode blocks = block.putArray("catch_block");
            if (chance(2)) {
                steps.caught(blocks.addObject(), id("s"));
            }
            if (!chance(5)) {
                list(blocks, depth - 1, catching, 2);
                use("catch");
            }
            scope.left(catching);
        }
        if (chance(2)) {
            Names last = scope.inside();
            list(block.putArray("finally_block"), depth - 1, last, 2);
            use("finally");
            scope.left(last);
        }
    }

    private void forEach(ObjectNode block, int depth, Names scope) {
        use("for_each");
        block(block, "for_each", id("e"));
        boolean rows = chance(3);
        if (chance(30)) {
            block.put("collection", "{{ data.s }}");
            use("collection that is no list");
        } else if (rows) {
            block.put("collection", chance(2) ? "{{ data.rows }}" : "= data.rows");
        } else {
            switch (random.nextInt(5)) {
                case 0 -> block.putArray("collection").add(random.nextInt(10)).add(steps.number(scope)).add(random.nextInt(10));
                case 1 -> block.put("collection", "= [" + steps.term(scope) + ", " + steps.term(scope) + "]");
                case 2 -> block.put("collection", "data.nums");
                case 3 -> block.put("collection", "= data.nums");
                default -> block.put("collection", "{{ data.nums }}");
            }
        }
        String variable = chance(2) ? "item" : id("v");
        if (!variable.equals("item")) {
            block.put("item_var", variable);
        }
        if (chance(15)) {
            block.put("max_iterations", 2);
            use("max_iterations of a for_each");
        }
        boolean concurrent = chance(2);
        if (concurrent) {
            block.put("concurrency", 2 + random.nextInt(3));
            use("concurrency");
        }
        retain(block);
        Names inside = concurrent ? scope.branch() : scope.inside();
        inside.beside |= concurrent;
        inside.hide(variable);
        inside.numbers.add(rows ? variable + ".n" : variable);
        inside.numbers.add("index");
        list(block.putArray("body"), depth - 1, inside, 2);
    }

    private void retain(ObjectNode block) {
        if (chance(6)) {
            block.put("retain_iterations", 1);
            use("retain_iterations");
        }
    }

    private void loop(ArrayNode list, int depth, Names scope) {
        use("loop");
        Names inside = scope.inside();
        String counter = null;
        if (!scope.beside && chance(2)) {
            counter = steps.counter(list.addObject(), scope, this::id);
            inside = scope.inside();
            // Only the last step of the body counts, so that it ends.
            inside.writable.remove(counter);
        }
        inside.numbers.add("index");
        ObjectNode block = block(list.addObject(), "loop", id("l"));
        if (counter == null) {
            block.put("condition", chance(3) ? "data.n < 8" : "true").put("max_iterations", 1 + random.nextInt(3));
            use("max_iterations of a loop");
        } else {
            block.put("condition", "state." + counter + (chance(2) ? " < " : " <= ") + random.nextInt(3)).put("max_iterations", 4);
        }
        if (chance(3)) {
            block.put("continue_on_error", true);
            inside.risky = true;
            use("continue_on_error");
        }
        if (options.timers() && chance(4)) {
            block.put("poll_interval", 1 + random.nextInt(5));
            use("poll_interval");
        }
        retain(block);
        ArrayNode body = block.putArray("body");
        Set<String> known = Set.copyOf(inside.maybe);
        list(body, depth - 1, inside, 2);
        List<String> own = inside.maybe.stream().filter(path -> !known.contains(path) && path.startsWith("outputs.")).toList();
        if (counter == null && !own.isEmpty() && chance(2)) {
            // The iteration before: nothing before the first, which therefore runs.
            block.put("condition", "!(" + own.get(random.nextInt(own.size())) + " > " + random.nextInt(8) + ")");
            use("loop over its own outputs");
        }
        if (counter != null) {
            steps.count(body.addObject(), counter, id("s"));
        }
        if (chance(3)) {
            block.put("break_on", chance(2) ? "index = " + random.nextInt(3) : steps.condition(inside));
            use("break_on");
        }
    }
}

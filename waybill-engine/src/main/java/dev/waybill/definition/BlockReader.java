package dev.waybill.definition;

import dev.waybill.definition.Sequence.Block;
import dev.waybill.definition.Sequence.Route;
import dev.waybill.json.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Reads the tree of blocks. */
final class BlockReader {
    static final int MAX_NESTING = 64;
    static final int MAX_BRANCHES = 256;
    static final int MAX_BLOCKS = 5_000;
    static final int MAX_ITERATIONS = 100_000;
    static final int DEFAULT_ITERATIONS = 1_000;

    private static final List<String> TYPES = List.of("step", "parallel", "router", "try_catch", "for_each", "loop", "saga");
    private static final Set<String> NOT_BUILT = Set.of("race", "sub_sequence", "ab_split", "a_b_split", "cancellation_scope");
    /** An id is part of receipt paths and of {@code outputs.<id>}; brackets and slashes are the path's own. */
    private static final Pattern ID = Pattern.compile("[^\\s/\\[\\]#\"'\\p{Cntrl}]{1,128}");

    private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_]\\w{0,63}");

    private final Faults faults;
    private final StepReader steps;
    private final Map<String, String> ids = new HashMap<>();
    private int count;

    BlockReader(Faults faults, Predicate<String> handlerKnown, Destinations destinations, Set<DestinationProfile> used, List<Sequence.Remedy> onUnknown) {
        this.faults = faults;
        this.steps = new StepReader(faults, handlerKnown, destinations, used, onUnknown);
    }

    /** @param variables item variables of the loops around */
    List<Block> blocks(Fields parent, String name, boolean required, int nesting, Set<String> variables) {
        JsonNode list = required
                ? parent.require(name, JsonNode::isArray, "a list of blocks", Json.NODES.arrayNode())
                : parent.optional(name, JsonNode::isArray, "a list of blocks");
        return list == null ? List.of() : list(list, parent.at(name), nesting, variables);
    }

    private List<Block> list(JsonNode list, String pointer, int nesting, Set<String> variables) {
        List<Block> blocks = new ArrayList<>();
        if (nesting >= MAX_NESTING && !list.isEmpty()) {
            faults.add("LIMIT_EXCEEDED", pointer, "blocks are nested deeper than " + MAX_NESTING);
            return blocks;
        }
        for (int i = 0; i < list.size(); i++) {
            if (tooMany(pointer)) {
                return blocks;
            }
            Block block = block(list.get(i), pointer + "/" + i, nesting + 1, variables);
            if (block != null) {
                blocks.add(block);
            }
        }
        return List.copyOf(blocks);
    }

    private boolean tooMany(String pointer) {
        if (++count == MAX_BLOCKS + 1) {
            faults.add("LIMIT_EXCEEDED", pointer, "a sequence has at most " + MAX_BLOCKS + " blocks");
        }
        return count > MAX_BLOCKS;
    }

    private @Nullable Block block(JsonNode node, String pointer, int nesting, Set<String> variables) {
        if (!node.isObject()) {
            faults.add("WRONG_TYPE", pointer, "a block is an object");
            return null;
        }
        Fields fields = new Fields(node, pointer, faults);
        String id = id(fields);
        String type = fields.require("type", JsonNode::isString, "the type of the block", Json.NODES.stringNode("")).stringValue();
        Block block = switch (type) {
            case "step" -> steps.step(fields, id, variables);
            case "parallel" -> parallel(fields, id, nesting, variables);
            case "router" -> router(fields, id, nesting, variables);
            case "try_catch" -> new Sequence.TryCatch(
                    id,
                    blocks(fields, "try_block", true, nesting, variables),
                    blocks(fields, "catch_block", false, nesting, variables),
                    blocks(fields, "finally_block", false, nesting, variables));
            case "for_each" -> forEach(fields, id, nesting, variables);
            case "loop" -> loop(fields, id, nesting, variables);
            case "saga" -> saga(fields, id, nesting, variables);
            default -> null;
        };
        if (block != null) {
            fields.done();
        } else if (NOT_BUILT.contains(type)) {
            fields.fault("UNSUPPORTED", "type", "blocks of type " + type + " are not supported yet");
        } else if (!type.isEmpty()) {
            fields.fault("UNKNOWN_BLOCK_TYPE", "type", "there is no block type " + type + Fields.near(type, TYPES));
        }
        return block;
    }

    private String id(Fields fields) {
        JsonNode id = fields.require("id", JsonNode::isString, "a string", Json.NODES.missingNode());
        if (id.isMissingNode()) {
            return "?";
        }
        String text = id.stringValue();
        if (!ID.matcher(text).matches()) {
            fields.fault("INVALID_VALUE", "id", "a block id is 1 to 128 characters without white space, quotes, slash, brackets or #");
        }
        String first = ids.putIfAbsent(text, fields.pointer);
        if (first != null) {
            fields.fault("DUPLICATE_ID", "id", "the block id " + text + " is also used at " + first);
        }
        return text;
    }

    private Block parallel(Fields fields, String id, int nesting, Set<String> variables) {
        JsonNode branches = fields.require("branches", JsonNode::isArray, "a list of lists of blocks", Json.NODES.arrayNode());
        List<List<Block>> lists = new ArrayList<>();
        limit(fields, "branches", branches.size());
        for (int i = 0; i < Math.min(branches.size(), MAX_BRANCHES); i++) {
            String at = fields.at("branches") + "/" + i;
            if (branches.get(i).isArray()) {
                lists.add(list(branches.get(i), at, nesting, variables));
            } else {
                faults.add("WRONG_TYPE", at, "a branch is a list of blocks");
            }
        }
        return new Sequence.Parallel(id, List.copyOf(lists));
    }

    private Block router(Fields fields, String id, int nesting, Set<String> variables) {
        JsonNode routes = fields.require("routes", JsonNode::isArray, "a list of routes", Json.NODES.arrayNode());
        List<Route> list = new ArrayList<>();
        limit(fields, "routes", routes.size());
        for (int i = 0; i < Math.min(routes.size(), MAX_BRANCHES); i++) {
            String at = fields.at("routes") + "/" + i;
            if (!routes.get(i).isObject()) {
                faults.add("WRONG_TYPE", at, "a route is an object {condition, blocks}");
                continue;
            }
            Fields route = new Fields(routes.get(i), at, faults);
            Expression condition = steps.values.condition(route, "condition", true);
            List<Block> blocks = blocks(route, "blocks", true, nesting, variables);
            route.done();
            list.add(new Route(condition == null ? ValueReader.NEVER : condition, blocks));
        }
        return new Sequence.Router(id, List.copyOf(list), blocks(fields, "default", false, nesting, variables));
    }

    private Block loop(Fields fields, String id, int nesting, Set<String> variables) {
        Expression condition = steps.values.condition(fields, "condition", true);
        Duration poll = fields.duration("poll_interval");
        return new Sequence.Loop(
                id,
                condition == null ? ValueReader.NEVER : condition,
                blocks(fields, "body", true, nesting, variables),
                fields.integer("max_iterations", 1, MAX_ITERATIONS, DEFAULT_ITERATIONS),
                steps.values.condition(fields, "break_on", false),
                fields.flag("continue_on_error", false),
                poll == null ? Duration.ZERO : poll,
                retain(fields));
    }

    private Block saga(Fields fields, String id, int nesting, Set<String> variables) {
        JsonNode steps = fields.require("steps", JsonNode::isArray, "a list of {id, action, compensation}", Json.NODES.arrayNode());
        limit(fields, "steps", steps.size());
        List<Sequence.SagaStep> list = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (int i = 0; i < Math.min(steps.size(), MAX_BRANCHES); i++) {
            String at = fields.at("steps") + "/" + i;
            if (!steps.get(i).isObject()) {
                faults.add("WRONG_TYPE", at, "a step of a saga is an object {id, action, compensation}");
                continue;
            }
            Fields step = new Fields(steps.get(i), at, faults);
            // It names the pair for people and is part of no path: its action may have the same id.
            String name = step.require("id", JsonNode::isString, "a string", Json.NODES.stringNode("")).stringValue();
            if (!name.isEmpty() && !ID.matcher(name).matches()) {
                step.fault("INVALID_VALUE", "id", "the id of a saga's step is 1 to 128 characters without white space, quotes, slash, brackets or #");
            } else if (!name.isEmpty() && !names.add(name)) {
                step.fault("DUPLICATE_ID", "id", "another step of this saga has the id " + name);
            }
            Block action = one(step, "action", true, nesting, variables);
            Block compensation = undoing(step, nesting, variables);
            step.done();
            if (action != null) {
                list.add(new Sequence.SagaStep(name, action, compensation));
            }
        }
        return new Sequence.Saga(id, List.copyOf(list));
    }

    /** Steps in it are keyed by the receipt they undo where they declare no key. */
    private @Nullable Block undoing(Fields step, int nesting, Set<String> variables) {
        boolean before = steps.undoing;
        steps.undoing = true;
        Block compensation = one(step, "compensation", false, nesting, variables);
        steps.undoing = before;
        return compensation;
    }

    private @Nullable Block one(Fields parent, String name, boolean required, int nesting, Set<String> variables) {
        JsonNode node = required
                ? parent.require(name, JsonNode::isObject, "a block", Json.NODES.missingNode())
                : parent.optional(name, JsonNode::isObject, "a block");
        if (node == null || node.isMissingNode()) {
            return null;
        }
        if (nesting >= MAX_NESTING) {
            faults.add("LIMIT_EXCEEDED", parent.at(name), "blocks are nested deeper than " + MAX_NESTING);
            return null;
        }
        return tooMany(parent.at(name)) ? null : block(node, parent.at(name), nesting + 1, variables);
    }

    private Block forEach(Fields fields, String id, int nesting, Set<String> variables) {
        String itemVar = fields.text("item_var");
        if (itemVar == null) {
            itemVar = "item";
        } else if (!VARIABLE.matcher(itemVar).matches() || Template.KNOWN_ROOTS.contains(itemVar) && !itemVar.equals("item")) {
            fields.fault("INVALID_VALUE", "item_var", "item_var must be a name of its own: " + itemVar + " is not, or it is a root already");
        }
        Value collection = steps.values.collection(fields, variables);
        Set<String> inside = new HashSet<>(variables);
        inside.add(itemVar);
        return new Sequence.ForEach(
                id,
                collection,
                itemVar,
                blocks(fields, "body", true, nesting, Set.copyOf(inside)),
                fields.integer("max_iterations", 1, MAX_ITERATIONS, DEFAULT_ITERATIONS),
                fields.integer("concurrency", 1, MAX_BRANCHES, 1),
                retain(fields));
    }

    private static @Nullable Integer retain(Fields fields) {
        return fields.has("retain_iterations") ? fields.integer("retain_iterations", 1, MAX_ITERATIONS, 1) : null;
    }

    private static void limit(Fields fields, String name, int size) {
        if (size > MAX_BRANCHES) {
            fields.fault("LIMIT_EXCEEDED", name, name + " has " + size + " entries; at most " + MAX_BRANCHES + " are allowed");
        }
    }
}

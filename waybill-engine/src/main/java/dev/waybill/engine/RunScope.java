package dev.waybill.engine;

import dev.waybill.definition.Scope;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * What the templates and expressions of one block see. Outputs are looked up from the innermost iteration outwards, so that inside a
 * loop {@code outputs.charge} is this iteration's charge.
 *
 * @param prefix    the iteration prefix of the block's path, for example {@code items[1]/}; empty at the top
 * @param variables loop variables and {@code error} in a catch block
 */
record RunScope(RunState state, Iterable<String> stepIds, String prefix, Map<String, JsonNode> variables, String path, int attempt)
        implements Scope {

    @Override
    public @Nullable JsonNode root(String name) {
        JsonNode variable = variables.get(name);
        if (variable != null) {
            return variable;
        }
        return switch (name) {
            case "data", "payload", "input" -> member("data");
            case "config" -> member("config");
            case "context" -> state.context;
            case "outputs", "steps" -> outputs();
            case "state" -> state.variables();
            case "runtime" -> runtime();
            case "attempt" -> JsonNodeFactory.instance.numberNode(attempt);
            default -> null;
        };
    }

    private JsonNode member(String name) {
        JsonNode value = state.context.get(name);
        return value == null ? JsonNodeFactory.instance.objectNode() : value;
    }

    private ObjectNode outputs() {
        ObjectNode all = JsonNodeFactory.instance.objectNode();
        for (String id : stepIds) {
            JsonNode output = find(id);
            if (output != null) {
                all.set(id, output);
            }
        }
        return all;
    }

    private @Nullable JsonNode find(String id) {
        String around = prefix;
        while (true) {
            JsonNode output = state.output(around + id);
            if (output != null || around.isEmpty()) {
                return output;
            }
            int cut = around.lastIndexOf('/', around.length() - 2);
            around = cut < 0 ? "" : around.substring(0, cut + 1);
        }
    }

    private ObjectNode runtime() {
        ObjectNode runtime = JsonNodeFactory.instance.objectNode();
        runtime.put("instance_id", state.key.id().toString());
        runtime.put("execution_id", state.execution.toString());
        runtime.put("tenant_id", state.key.tenant());
        runtime.put("block_path", path);
        runtime.put("attempt", attempt);
        return runtime;
    }
}

package dev.waybill.definition;

import dev.waybill.json.Json;
import dev.waybill.model.Problem;
import tools.jackson.databind.JsonNode;

/**
 * The key of a step that undoes an effect and declares none: {@code compensate:<id of the receipt that is undone>} (semantics.md section
 * 8). Where the compensation is more than one step, each adds its path: two requests under one key would be one to the provider.
 */
final class UndoKey implements Value {
    static final UndoKey INSTANCE = new UndoKey();

    private UndoKey() {}

    @Override
    public JsonNode resolve(Scope scope) throws EvaluationException {
        JsonNode undone = scope.root(Sequence.UNDOES);
        JsonNode runtime = scope.root("runtime");
        if (undone == null || runtime == null) {
            throw new EvaluationException(Problem.of("EXPRESSION_UNDEFINED", "a compensation has a key only where it undoes something"));
        }
        String key = undone.path("key").asString();
        JsonNode path = runtime.path("block_path");
        return Json.NODES.stringNode(path.equals(undone.path("path")) ? key : key + ":" + path.asString());
    }
}

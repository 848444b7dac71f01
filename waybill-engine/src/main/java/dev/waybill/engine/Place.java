package dev.waybill.engine;

import java.util.HashMap;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/**
 * Where a block stands in a run.
 *
 * @param prefix iteration prefix of paths
 * @param vars   loop variables and error
 * @param caught a failure here goes to a catch or a finally: branches beside it run to their end
 */
record Place(String prefix, Map<String, JsonNode> vars, boolean caught) {
    static final Place TOP = new Place("", Map.of(), false);

    Place with(String name, JsonNode value) {
        Map<String, JsonNode> more = new HashMap<>(vars);
        more.put(name, value);
        return new Place(prefix, more, caught);
    }

    Place guarded() {
        return caught ? this : new Place(prefix, vars, true);
    }

    Place iteration(String path, int index) {
        return new Place(path + "[" + index + "]/", vars, caught);
    }
}

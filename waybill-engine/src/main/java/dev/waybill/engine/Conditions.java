package dev.waybill.engine;

import tools.jackson.databind.JsonNode;

/** When a condition's value counts as true: the casting rules of JSONata's {@code $boolean}. */
final class Conditions {
    private Conditions() {}

    static boolean holds(JsonNode value) {
        if (value.isMissingNode() || value.isNull()) {
            return false;
        }
        if (value.isBoolean()) {
            return value.asBoolean();
        }
        if (value.isNumber()) {
            return value.decimalValue().signum() != 0;
        }
        if (value.isString()) {
            return !value.asString().isEmpty();
        }
        if (value.isArray()) {
            for (JsonNode member : value) {
                if (holds(member)) {
                    return true;
                }
            }
            return false;
        }
        return !value.isEmpty();
    }
}

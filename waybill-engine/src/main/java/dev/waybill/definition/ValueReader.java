package dev.waybill.definition;

import dev.waybill.definition.Values.Compiled;
import dev.waybill.json.Json;
import dev.waybill.json.SecretText;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Reads values, expressions and keys of a document, with their lint. */
final class ValueReader {
    /** Stands in for a condition that did not compile; the document is refused anyway. */
    static final Expression NEVER = new Expression() {
        @Override
        public JsonNode evaluate(Scope scope) {
            return Json.NODES.booleanNode(false);
        }

        @Override
        public String source() {
            return "false";
        }
    };

    private static final Set<String> UNSTABLE_CODES = Set.of("EXPRESSION_FORBIDDEN_FUNCTION", "TEMPLATE_FUNCTION");

    private final Faults faults;

    ValueReader(Faults faults) {
        this.faults = faults;
    }

    /** @param variables item variables of the loops around */
    Compiled value(JsonNode node, String pointer, Set<String> variables) {
        Compiled value = Values.compile(node, pointer, faults::add);
        warnOfUnknownRoots(value, pointer, variables);
        return value;
    }

    @Nullable Expression condition(Fields fields, String name, boolean required) {
        return expression(fields, name, required, true);
    }

    @Nullable Expression expression(Fields fields, String name) {
        return expression(fields, name, false, false);
    }

    private @Nullable Expression expression(Fields fields, String name, boolean required, boolean condition) {
        JsonNode node = fields.get(name);
        if (node == null) {
            if (required) {
                faults.add("MISSING_FIELD", fields.pointer, "the field " + name + " is missing");
            }
            return null;
        }
        if (node.isBoolean() && condition) {
            return parsed(fields, name, node.asString(), true);
        }
        if (!node.isString()) {
            fields.fault("WRONG_TYPE", name, name + " must be a JSONata expression");
            return null;
        }
        return parsed(fields, name, node.stringValue(), condition);
    }

    private static @Nullable Expression parsed(Fields fields, String name, String source, boolean condition) {
        try {
            return condition ? Expressions.parseCondition(source) : Expressions.parse(source);
        } catch (InvalidValueException e) {
            fields.fault(e.code(), name, e.reason());
            return null;
        }
    }

    /** A list, or what gives one: an expression (the leading {@code "= "} may be missing) or a template. */
    Value collection(Fields fields, Set<String> variables) {
        JsonNode node = fields.require(
                "collection", value -> value.isArray() || value.isString(), "a list or an expression", Json.NODES.arrayNode());
        boolean bare = node.isString() && !node.stringValue().startsWith("= ") && !Template.isTemplate(node.stringValue());
        return value(bare ? Json.NODES.stringNode("= " + node.stringValue()) : node, fields.at("collection"), variables);
    }

    /**
     * An idempotency key (seed 004: from the data, never from the time; prefixed by the operation).
     *
     * @return null after a fault
     */
    @Nullable Compiled key(JsonNode node, String pointer, Set<String> variables) {
        List<Fault> found = new ArrayList<>();
        Compiled key = Values.compile(node, pointer, found::add);
        for (Fault fault : found) {
            faults.add(UNSTABLE_CODES.contains(fault.code()) ? new Fault("KEY_NOT_STABLE", pointer, fault.message()) : fault);
        }
        if (!found.isEmpty()) {
            return null;
        }
        if (unstable(key)) {
            faults.add("KEY_NOT_STABLE", pointer, "a key must not use the attempt, the instance or anything else of runtime: the same intent"
                    + " must give the same key in every attempt and run; build it from the data");
        }
        warnOfUnknownRoots(key, pointer, variables);
        switch (key) {
            case Values.Constant(JsonNode constant) -> {
                if (SecretText.hasSecrets(constant)) {
                    faults.add("KEY_NOT_SCALAR", pointer, "a key must not hold a secret: it is stored and shown");
                } else if (!(constant.isString() && !constant.stringValue().isBlank() || constant.isIntegralNumber() || constant.isBoolean())) {
                    faults.add("KEY_NOT_SCALAR", pointer, "a key is a non-empty string, an integer or a boolean");
                } else {
                    faults.warn("KEY_CONSTANT", pointer, "the key is the same for every run: only the first would be carried out");
                }
            }
            case Values.OfExpression(JsonataExpression expression) -> {
                if (!expression.startsWithText()) {
                    warnOfPrefix(pointer);
                }
            }
            case Values.OfTemplate(Template template) -> {
                if (template.hasSecret()) {
                    faults.add("KEY_NOT_SCALAR", pointer, "a key must not hold a secret: it is stored and shown");
                } else if (!template.startsWithText()) {
                    warnOfPrefix(pointer);
                }
            }
            case Values.OfObject _, Values.OfArray _ ->
                faults.add("KEY_NOT_SCALAR", pointer, "a key is a non-empty string, an integer or a boolean");
            case Values.Identity _ -> throw new IllegalStateException("only the header reader makes one");
        }
        return key;
    }

    private void warnOfPrefix(String pointer) {
        faults.warn("KEY_WITHOUT_PREFIX", pointer, "begin the key with the operation ('charge-' & ..): another operation on the same id must not collide");
    }

    private static boolean unstable(Compiled key) {
        return switch (key) {
            case Values.OfExpression(JsonataExpression expression) -> expression.usesRuntime();
            case Values.OfTemplate(Template template) -> template.paths().stream().anyMatch(path -> path.root().equals("runtime")
                    || path.root().equals("context") && !path.names().isEmpty() && path.names().getFirst().equals("runtime"));
            case Values.Constant _, Values.OfObject _, Values.OfArray _, Values.Identity _ -> false;
        };
    }

    /** The member's name as the document has it. */
    private static String written(String name) {
        return name.startsWith("$") && SecretText.escapeName(name.substring(1)).equals(name) ? name.substring(1) : name;
    }

    /** Only a warning: which roots there are is the engine's to say; at run time an unknown one fails the step. */
    private void warnOfUnknownRoots(Compiled value, String pointer, Set<String> variables) {
        switch (value) {
            case Values.OfTemplate(Template template) -> template.paths().stream()
                    .map(Template.Segment.Path::root)
                    .filter(root -> !Template.KNOWN_ROOTS.contains(root) && !variables.contains(root))
                    .findFirst()
                    .ifPresent(root -> faults.warn(
                            "UNKNOWN_ROOT", pointer, "there is no root named " + root + Fields.near(root, Template.KNOWN_ROOTS)));
            case Values.OfObject(List<String> names, List<Compiled> values) -> {
                for (int i = 0; i < names.size(); i++) {
                    warnOfUnknownRoots(values.get(i), pointer + "/" + Pointers.escape(written(names.get(i))), variables);
                }
            }
            case Values.OfArray(List<Compiled> items) -> {
                for (int i = 0; i < items.size(); i++) {
                    warnOfUnknownRoots(items.get(i), pointer + "/" + i, variables);
                }
            }
            case Values.Identity(Compiled inner) -> warnOfUnknownRoots(inner, pointer, variables);
            case Values.Constant _, Values.OfExpression _ -> {}
        }
    }
}

package dev.waybill.definition;

import dev.waybill.json.Json;
import dev.waybill.json.SecretText;
import dev.waybill.model.WaybillException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Compiles the values of a document: a string that starts with {@code "= "} is JSONata, {@code {{ }}} in a string is a template,
 * {@code credentials://id/field} is a secret, everything else stands for itself. A value without anything to evaluate becomes a constant
 * and costs nothing at run time. Constants and parts of the scope are handed out as they are: nobody may change a resolved node.
 */
public final class Values {
    private Values() {}

    /**
     * @throws WaybillException 422 with the code and pointer of the first fault
     */
    public static Value compile(JsonNode node) {
        List<Fault> faults = new ArrayList<>();
        Value value = compile(node, "", faults::add);
        if (!faults.isEmpty()) {
            Fault first = faults.getFirst();
            throw new WaybillException(422, first.code(), first.message(), first.pointer(), null);
        }
        return value;
    }

    /** A value that is always {@code node}, as data: nothing in it is evaluated. */
    public static Value constant(JsonNode node) {
        return new Constant(SecretText.escape(node));
    }

    /** What the package knows of a value beyond {@link Value}. */
    sealed interface Compiled extends Value {
        /**
         * @param key the strict rules for keys (case A32)
         * @return {@code MissingNode} when it is undefined as a whole
         */
        JsonNode resolveRaw(Scope scope, boolean key) throws EvaluationException;

        @Override
        default JsonNode resolve(Scope scope) throws EvaluationException {
            JsonNode value = resolveRaw(scope, false);
            return value.isMissingNode() ? Json.NODES.nullNode() : value;
        }
    }

    record Constant(JsonNode value) implements Compiled {
        @Override
        public JsonNode resolveRaw(Scope scope, boolean key) {
            return value;
        }
    }

    record OfExpression(JsonataExpression expression) implements Compiled {
        @Override
        public JsonNode resolveRaw(Scope scope, boolean key) throws EvaluationException {
            return SecretText.escape(expression.evaluate(scope, key));
        }
    }

    record OfTemplate(Template template) implements Compiled {
        @Override
        public JsonNode resolveRaw(Scope scope, boolean key) throws EvaluationException {
            return template.resolve(scope, key);
        }
    }

    /** An identity field that is not the declared key, such as an Idempotency-Key header: its parts are as strict as a key's. */
    record Identity(Compiled value) implements Compiled {
        @Override
        public JsonNode resolveRaw(Scope scope, boolean key) throws EvaluationException {
            return value.resolveRaw(scope, true);
        }
    }

    record OfObject(List<String> names, List<Compiled> values) implements Compiled {
        @Override
        public JsonNode resolveRaw(Scope scope, boolean key) throws EvaluationException {
            ObjectNode object = Json.NODES.objectNode();
            for (int i = 0; i < names.size(); i++) {
                object.set(names.get(i), values.get(i).resolve(scope));
            }
            return object;
        }
    }

    record OfArray(List<Compiled> items) implements Compiled {
        @Override
        public JsonNode resolveRaw(Scope scope, boolean key) throws EvaluationException {
            ArrayNode array = Json.NODES.arrayNode(items.size());
            for (int i = 0; i < items.size(); i++) {
                array.add(items.get(i).resolve(scope));
            }
            return array;
        }
    }

    static Compiled compile(JsonNode node, String pointer, Consumer<Fault> faults) {
        return switch (node.getNodeType()) {
            case OBJECT -> object(node, pointer, faults);
            case ARRAY -> array(node, pointer, faults);
            case STRING -> string(node, pointer, faults);
            default -> new Constant(node);
        };
    }

    private static Compiled string(JsonNode node, String pointer, Consumer<Fault> faults) {
        String text = node.stringValue();
        try {
            if (text.startsWith("= ")) {
                return new OfExpression(Expressions.parse(text));
            }
            if (Template.isTemplate(text)) {
                if (text.length() > Expressions.MAX_SOURCE) {
                    throw new InvalidValueException("TEMPLATE_INVALID", "a template is longer than " + Expressions.MAX_SOURCE + " characters");
                }
                Template template = Template.parse(text);
                JsonNode constant = template.constant();
                return constant == null ? new OfTemplate(template) : new Constant(constant);
            }
        } catch (InvalidValueException e) {
            faults.accept(new Fault(e.code(), pointer, e.reason()));
        }
        return new Constant(node);
    }

    private static Compiled object(JsonNode node, String pointer, Consumer<Fault> faults) {
        List<String> names = new ArrayList<>(node.size());
        List<Compiled> values = new ArrayList<>(node.size());
        // A member of the document may be named like the secret marker; as in data, it is then just a name.
        for (Map.Entry<String, JsonNode> member : node.properties()) {
            names.add(SecretText.escapeName(member.getKey()));
            values.add(compile(member.getValue(), pointer + "/" + Pointers.escape(member.getKey()), faults));
        }
        return build(names, values);
    }

    static Compiled build(List<String> names, List<Compiled> values) {
        if (!values.stream().allMatch(Constant.class::isInstance)) {
            return new OfObject(List.copyOf(names), List.copyOf(values));
        }
        ObjectNode constant = Json.NODES.objectNode();
        for (int i = 0; i < names.size(); i++) {
            constant.set(names.get(i), ((Constant) values.get(i)).value());
        }
        return new Constant(constant);
    }

    private static Compiled array(JsonNode node, String pointer, Consumer<Fault> faults) {
        List<Compiled> items = new ArrayList<>(node.size());
        for (int i = 0; i < node.size(); i++) {
            items.add(compile(node.get(i), pointer + "/" + i, faults));
        }
        if (!items.stream().allMatch(Constant.class::isInstance)) {
            return new OfArray(List.copyOf(items));
        }
        ArrayNode constant = Json.NODES.arrayNode(items.size());
        items.forEach(item -> constant.add(((Constant) item).value()));
        return new Constant(constant);
    }
}

package dev.waybill.definition;

import com.dashjoin.jsonata.Jsonata;
import dev.waybill.json.Json;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.AbstractList;
import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * JSON trees as the maps and lists that the JSONata library wants, without copying: an expression pays for the members it touches, not
 * for the document. Numbers keep their type and digits.
 */
final class JsonViews {
    /** What {@code *} or {@code $keys($$)} see at the top: a scope can be asked for a root, not for a list of them. */
    private static final List<String> LISTED_ROOTS =
            List.of("data", "context", "config", "outputs", "steps", "payload", "input", "state", "item", "status", "headers", "body");

    private JsonViews() {}

    static Object toJava(JsonNode node) {
        return switch (node.getNodeType()) {
            case OBJECT -> new NodeMap((ObjectNode) node);
            case ARRAY -> new NodeList((ArrayNode) node);
            case STRING -> node.stringValue();
            case BOOLEAN -> node.booleanValue();
            case NUMBER -> node.numberValue();
            case NULL, MISSING, BINARY, POJO -> Jsonata.NULL_VALUE;
        };
    }

    /** The members of an object; read-only. */
    static final class NodeMap extends AbstractMap<String, Object> {
        final ObjectNode node;

        NodeMap(ObjectNode node) {
            this.node = node;
        }

        @Override
        public @Nullable Object get(@Nullable Object key) {
            JsonNode value = key instanceof String name ? node.get(name) : null;
            return value == null ? null : toJava(value);
        }

        @Override
        public boolean containsKey(@Nullable Object key) {
            return key instanceof String name && node.has(name);
        }

        @Override
        public int size() {
            return node.size();
        }

        @Override
        public Set<Entry<String, Object>> entrySet() {
            return new AbstractSet<>() {
                @Override
                public Iterator<Entry<String, Object>> iterator() {
                    return node.properties().stream()
                            .map(member -> Map.entry(member.getKey(), toJava(member.getValue())))
                            .iterator();
                }

                @Override
                public int size() {
                    return node.size();
                }
            };
        }
    }

    /** The items of an array; read-only. */
    static final class NodeList extends AbstractList<Object> {
        final ArrayNode node;

        NodeList(ArrayNode node) {
            this.node = node;
        }

        @Override
        public Object get(int index) {
            return toJava(node.get(index));
        }

        @Override
        public int size() {
            return node.size();
        }
    }

    /** The roots of a scope. A root that does not exist is the author's fault and ends the evaluation, unlike a missing member. */
    static final class ScopeMap extends AbstractMap<String, Object> {
        private final Scope scope;
        private final Evaluation evaluation;

        ScopeMap(Scope scope, Evaluation evaluation) {
            this.scope = scope;
            this.evaluation = evaluation;
        }

        @Override
        public Object get(@Nullable Object key) {
            JsonNode root = key instanceof String name ? scope.root(name) : null;
            if (root == null) {
                throw evaluation.stop("EXPRESSION_UNKNOWN_ROOT", "there is no root named " + key);
            }
            return toJava(root);
        }

        @Override
        public boolean containsKey(@Nullable Object key) {
            return key instanceof String name && scope.root(name) != null;
        }

        @Override
        public Set<Entry<String, Object>> entrySet() {
            return new AbstractSet<>() {
                @Override
                public Iterator<Entry<String, Object>> iterator() {
                    return names().stream().map(name -> Map.entry(name, get(name))).iterator();
                }

                @Override
                public int size() {
                    return names().size();
                }
            };
        }

        private List<String> names() {
            return LISTED_ROOTS.stream().filter(this::containsKey).toList();
        }
    }

    /** Builds the result; a result larger than {@link Expressions#MAX_OUTPUT} stops. Undefined is {@code MissingNode} at the top. */
    static final class Result {
        private final Evaluation evaluation;
        private int left = Expressions.MAX_OUTPUT;

        Result(Evaluation evaluation) {
            this.evaluation = evaluation;
        }

        JsonNode of(@Nullable Object value) {
            return value == null ? Json.NODES.missingNode() : node(value, Json.MAX_DEPTH);
        }

        private JsonNode node(@Nullable Object value, int depthLeft) {
            spend(4);
            if (depthLeft < 0) {
                throw evaluation.stop("EXPRESSION_BOUND", "the result is nested too deeply");
            }
            return switch (value) {
                case null -> Json.NODES.nullNode();
                case NodeMap view -> measured(view.node, depthLeft);
                case NodeList view -> measured(view.node, depthLeft);
                case String text -> string(text);
                case Boolean truth -> Json.NODES.booleanNode(truth);
                case Integer number -> Json.integer(number);
                case Long number -> Json.integer(number);
                case BigInteger number -> Json.NODES.numberNode(number);
                case BigDecimal number -> Json.NODES.numberNode(number);
                case Number number -> fromDouble(number.doubleValue());
                case List<?> list -> {
                    ArrayNode array = Json.NODES.arrayNode();
                    for (Object item : list) {
                        array.add(node(item, depthLeft - 1));
                    }
                    yield array;
                }
                case Map<?, ?> map -> {
                    ObjectNode object = Json.NODES.objectNode();
                    map.forEach((name, member) -> {
                        String text = String.valueOf(name);
                        object.set(string(text).stringValue(), node(member, depthLeft - 1));
                    });
                    yield object;
                }
                default -> {
                    if (value == Jsonata.NULL_VALUE) {
                        yield Json.NODES.nullNode();
                    }
                    throw evaluation.stop("EXPRESSION_FAILED", "the result is a function, not a JSON value");
                }
            };
        }

        /** A node of the input is handed on as it is; only its size and depth are looked at. */
        private JsonNode measured(JsonNode node, int depthLeft) {
            measure(node, depthLeft);
            return node;
        }

        private void measure(JsonNode node, int depthLeft) {
            spend(4);
            if (node.isString()) {
                spend(node.stringValue().length());
            } else if (node.isContainer()) {
                if (depthLeft < 0) {
                    throw evaluation.stop("EXPRESSION_BOUND", "the result is nested too deeply");
                }
                if (node.isObject()) {
                    node.properties().forEach(member -> {
                        spend(member.getKey().length());
                        measure(member.getValue(), depthLeft - 1);
                    });
                } else {
                    node.forEach(item -> measure(item, depthLeft - 1));
                }
            }
        }

        private JsonNode string(String text) {
            spend(text.length());
            if (Json.hasLoneSurrogate(text)) {
                throw evaluation.stop("EXPRESSION_FAILED", "the result holds half of a surrogate pair");
            }
            return Json.NODES.stringNode(text);
        }

        private JsonNode fromDouble(double number) {
            if (!Double.isFinite(number)) {
                throw evaluation.stop("EXPRESSION_FAILED", "the result is not a finite number");
            }
            return number == Math.rint(number) && Math.abs(number) <= 1L << 53
                    ? Json.integer((long) number)
                    : Json.number(new BigDecimal(Double.toString(number)));
        }

        private void spend(int bytes) {
            left -= bytes;
            if (left < 0) {
                throw evaluation.stop("EXPRESSION_BOUND", "the result is larger than " + Expressions.MAX_OUTPUT + " bytes");
            }
        }
    }
}

package dev.waybill.json;

import dev.waybill.model.WaybillException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Text with secrets, inside frozen params: {@code {"$secret_text":["Bearer ",{"secret":"NAME"}]}}. The form is structural, so that no
 * text in data can become a reference (case A33): a member of data whose name looks like the marker gets one more {@code $} on the way
 * in ({@link #escape}) and loses it on the way out. A part {@code {"masked":"api_key"}} stands for a literal credential that was not
 * stored ({@link Fingerprints#scrubForStorage}); it can be shown and hashed, never sent.
 */
public final class SecretText {
    private static final String MARKER = "$secret_text";
    private static final String SECRET = "secret";
    private static final String MASKED = "masked";

    /** What people see where a literal credential stood. */
    public static final String MASK = "[masked]";

    private SecretText() {}

    /** One part of a text: literal text, a reference to a secret, or a mask where a literal credential stood. */
    public sealed interface Part {
        record Text(String text) implements Part {}

        /** {@code name} as in {@code {{ secrets.NAME }}}, or {@code id/field} for {@code credentials://id/field}. */
        record Secret(String name) implements Part {}

        record Masked(String what) implements Part {}
    }

    /** The frozen form of a text; plain text when no part is secret or masked. */
    public static JsonNode of(List<Part> parts) {
        StringBuilder plain = new StringBuilder();
        ArrayNode list = Json.NODES.arrayNode();
        for (Part part : parts) {
            if (part instanceof Part.Text(String text)) {
                plain.append(text);
                continue;
            }
            if (!plain.isEmpty()) {
                list.add(plain.toString());
                plain.setLength(0);
            }
            switch (part) {
                case Part.Secret(String name) -> list.addObject().put(SECRET, name);
                case Part.Masked(String what) -> list.addObject().put(MASKED, what);
                case Part.Text _ -> throw new IllegalStateException("handled above");
            }
        }
        if (list.isEmpty()) {
            return Json.NODES.stringNode(plain.toString());
        }
        if (!plain.isEmpty()) {
            list.add(plain.toString());
        }
        return Json.NODES.objectNode().set(MARKER, list);
    }

    /** The frozen form of one secret, alone. */
    public static JsonNode reference(String name) {
        return of(List.of(new Part.Secret(name)));
    }

    /** The parts of a frozen text: of a string, one; null when {@code frozen} is not a text. */
    public static @Nullable List<Part> parts(JsonNode frozen) {
        if (frozen.isString()) {
            return List.of(new Part.Text(frozen.stringValue()));
        }
        JsonNode list = marked(frozen);
        if (list == null) {
            return null;
        }
        List<Part> parts = new ArrayList<>(list.size());
        for (JsonNode part : list) {
            if (part.isString()) {
                parts.add(new Part.Text(part.stringValue()));
            } else if (part.get(SECRET) instanceof JsonNode name) {
                parts.add(new Part.Secret(name.asString()));
            } else {
                parts.add(new Part.Masked(part.path(MASKED).asString("")));
            }
        }
        return parts;
    }

    /** Makes data safe to stand inside frozen params. Returns the same node when nothing in it looks like the marker. */
    public static JsonNode escape(JsonNode data) {
        if (!needsEscape(data)) {
            return data;
        }
        if (data.isArray()) {
            ArrayNode copy = Json.NODES.arrayNode(data.size());
            data.forEach(item -> copy.add(escape(item)));
            return copy;
        }
        ObjectNode copy = Json.NODES.objectNode();
        data.properties().forEach(member -> copy.set(escapeName(member.getKey()), escape(member.getValue())));
        return copy;
    }

    /** As {@link #escape}, for the name of one member. */
    public static String escapeName(String name) {
        return looksMarked(name) ? "$" + name : name;
    }

    /**
     * Frozen params with every reference replaced by its value, for the sender alone. The frozen node is not changed.
     *
     * @throws WaybillException 422 SECRET_MISSING naming the reference, never a value; also for a masked literal credential
     */
    public static JsonNode reveal(JsonNode frozen, String tenant, SecretSource secrets) {
        return render(frozen, part -> switch (part) {
            case Part.Text(String text) -> text;
            case Part.Secret(String name) -> secrets.secret(tenant, name).orElseThrow(() -> new WaybillException(
                    422, "SECRET_MISSING", "no secret is named " + name, null, "create the secret " + name + ", then retry the step"));
            case Part.Masked(String what) -> throw new WaybillException(
                    422,
                    "SECRET_MISSING",
                    "the literal credential in " + what + " is not kept with the receipt",
                    null,
                    "move it into a secret and refer to it as {{ secrets.NAME }}");
        });
    }

    /** For people and for pure handlers: {@code {{ secrets.NAME }}} where a secret goes. */
    public static JsonNode masked(JsonNode frozen) {
        return render(frozen, part -> switch (part) {
            case Part.Text(String text) -> text;
            case Part.Secret(String name) -> name.indexOf('/') >= 0 ? "credentials://" + name : "{{ secrets." + name + " }}";
            case Part.Masked _ -> MASK;
        });
    }

    /** Whether any text in it refers to a secret or holds a mask. */
    public static boolean hasSecrets(JsonNode frozen) {
        if (frozen.isObject() && marked(frozen) != null) {
            return true;
        }
        if (frozen.isContainer()) {
            for (JsonNode child : frozen) {
                if (hasSecrets(child)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** The names of all secrets it refers to. */
    public static Set<String> names(JsonNode frozen) {
        Set<String> names = new LinkedHashSet<>();
        collect(frozen, names);
        return names;
    }

    private static void collect(JsonNode frozen, Set<String> names) {
        List<Part> parts = frozen.isObject() ? parts(frozen) : null;
        if (parts != null) {
            parts.forEach(part -> {
                if (part instanceof Part.Secret(String name)) {
                    names.add(name);
                }
            });
        } else if (frozen.isContainer()) {
            for (JsonNode child : frozen) {
                collect(child, names);
            }
        }
    }

    private static JsonNode render(JsonNode frozen, Function<Part, String> text) {
        if (frozen.isArray()) {
            ArrayNode copy = Json.NODES.arrayNode(frozen.size());
            frozen.forEach(item -> copy.add(render(item, text)));
            return copy;
        }
        if (!frozen.isObject()) {
            return frozen;
        }
        List<Part> parts = parts(frozen);
        if (parts != null) {
            StringBuilder whole = new StringBuilder();
            parts.forEach(part -> whole.append(text.apply(part)));
            return Json.NODES.stringNode(whole.toString());
        }
        ObjectNode copy = Json.NODES.objectNode();
        for (Map.Entry<String, JsonNode> member : frozen.properties()) {
            String name = member.getKey();
            copy.set(looksMarked(name) ? name.substring(1) : name, render(member.getValue(), text));
        }
        return copy;
    }

    private static @Nullable JsonNode marked(JsonNode node) {
        return node.isObject() && node.size() == 1 ? node.get(MARKER) : null;
    }

    /** {@code $secret_text..} with any number of further dollars in front: what {@link #escape} lengthens and the way out shortens. */
    private static boolean looksMarked(String name) {
        if (name.isEmpty() || name.charAt(0) != '$') {
            return false;
        }
        int dollars = 1;
        while (dollars < name.length() && name.charAt(dollars) == '$') {
            dollars++;
        }
        return name.startsWith(MARKER, dollars - 1);
    }

    private static boolean needsEscape(JsonNode node) {
        if (node.isObject()) {
            for (Map.Entry<String, JsonNode> member : node.properties()) {
                if (looksMarked(member.getKey()) || needsEscape(member.getValue())) {
                    return true;
                }
            }
        } else if (node.isArray()) {
            for (JsonNode item : node) {
                if (needsEscape(item)) {
                    return true;
                }
            }
        }
        return false;
    }
}

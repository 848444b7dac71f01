package dev.waybill.definition;

import dev.waybill.json.CaseMapping;
import dev.waybill.json.Json;
import dev.waybill.model.Problem;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;

/** The filters of {@code {{ path | filter }}}. Null passes through every filter but {@code default}. */
final class Filters {
    /** Name to number of arguments (least, most). */
    private static final Map<String, int[]> ARGUMENTS = Map.ofEntries(
            Map.entry("upper", new int[] {0, 0}),
            Map.entry("lower", new int[] {0, 0}),
            Map.entry("trim", new int[] {0, 0}),
            Map.entry("abs", new int[] {0, 0}),
            Map.entry("url_encode", new int[] {0, 0}),
            Map.entry("base64", new int[] {0, 0}),
            Map.entry("base64_decode", new int[] {0, 0}),
            Map.entry("replace", new int[] {2, 2}),
            Map.entry("default", new int[] {1, 1}),
            Map.entry("truncate", new int[] {1, 1}),
            Map.entry("join", new int[] {0, 1}),
            Map.entry("split", new int[] {1, 1}),
            Map.entry("hash", new int[] {0, 0}),
            Map.entry("round", new int[] {0, 1}));

    private Filters() {}

    static boolean isFilter(String name) {
        return ARGUMENTS.containsKey(name);
    }

    static boolean accepts(String name, int arguments) {
        int[] range = ARGUMENTS.getOrDefault(name, new int[] {0, -1});
        return arguments >= range[0] && arguments <= range[1];
    }

    static JsonNode apply(String name, List<JsonNode> arguments, JsonNode value) throws EvaluationException {
        if (name.equals("default")) {
            return value.isNull() || value.isMissingNode() ? arguments.getFirst() : value;
        }
        if (value.isNull() || value.isMissingNode()) {
            return value;
        }
        return switch (name) {
            case "upper" -> text(CaseMapping.upper(text(name, value)));
            case "lower" -> text(CaseMapping.lower(text(name, value)));
            case "trim" -> text(text(name, value).strip());
            case "url_encode" -> text(URLEncoder.encode(text(name, value), StandardCharsets.UTF_8).replace("+", "%20"));
            case "base64" -> text(Base64.getEncoder().encodeToString(text(name, value).getBytes(StandardCharsets.UTF_8)));
            case "base64_decode" -> text(decoded(text(name, value)));
            case "hash" -> text(HexFormat.of().formatHex(sha256(text(name, value).getBytes(StandardCharsets.UTF_8))));
            case "replace" -> replace(text(name, value), Template.render(arguments.get(0)), Template.render(arguments.get(1)));
            case "truncate" -> truncate(text(name, value), arguments.getFirst());
            case "split" -> split(text(name, value), Template.render(arguments.getFirst()));
            case "join" -> join(value, arguments.isEmpty() ? "," : Template.render(arguments.getFirst()));
            case "abs" -> number(number(name, value).abs());
            case "round" -> round(value, arguments);
            default -> throw new IllegalStateException("not a filter: " + name);
        };
    }

    private static String text(String filter, JsonNode value) throws EvaluationException {
        return Template.render(require(filter, value, JsonNode::isValueNode, "a text"));
    }

    private static BigDecimal number(String filter, JsonNode value) throws EvaluationException {
        return require(filter, value, JsonNode::isNumber, "a number").decimalValue();
    }

    private static JsonNode require(String filter, JsonNode value, Predicate<JsonNode> holds, String what) throws EvaluationException {
        if (!holds.test(value)) {
            throw failed("the filter " + filter + " needs " + what);
        }
        return value;
    }

    private static JsonNode text(String text) throws EvaluationException {
        bound(text.length());
        return Json.NODES.stringNode(text);
    }

    private static String decoded(String base64) throws EvaluationException {
        try {
            byte[] bytes = Base64.getDecoder().decode(base64);
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (IllegalArgumentException | CharacterCodingException e) {
            throw failed("the filter base64_decode needs base64 of UTF-8 text");
        }
    }

    private static JsonNode replace(String text, String from, String to) throws EvaluationException {
        if (from.isEmpty()) {
            throw failed("the filter replace needs something to replace");
        }
        long length = text.length();
        for (int at = text.indexOf(from); at >= 0; at = text.indexOf(from, at + from.length())) {
            length += to.length() - from.length();
            bound(length);
        }
        return text(text.replace(from, to));
    }

    private static JsonNode truncate(String text, JsonNode length) throws EvaluationException {
        int points = require("truncate", length, node -> node.isInt() && node.intValue() >= 0, "a length").intValue();
        return text.codePointCount(0, text.length()) <= points ? text(text) : text(text.substring(0, text.offsetByCodePoints(0, points)));
    }

    private static JsonNode split(String text, String separator) throws EvaluationException {
        if (separator.isEmpty()) {
            throw failed("the filter split needs a separator");
        }
        ArrayNode parts = Json.NODES.arrayNode();
        int from = 0;
        for (int at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, from)) {
            parts.add(text.substring(from, at));
            bound(parts.size() * 16L);
            from = at + separator.length();
        }
        return parts.add(text.substring(from));
    }

    private static JsonNode join(JsonNode list, String separator) throws EvaluationException {
        require("join", list, JsonNode::isArray, "a list");
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < list.size(); i++) {
            text.append(i == 0 ? "" : separator).append(Template.render(list.get(i)));
            bound(text.length());
        }
        return text(text.toString());
    }

    private static JsonNode round(JsonNode value, List<JsonNode> arguments) throws EvaluationException {
        int places = arguments.isEmpty()
                ? 0
                : require("round", arguments.getFirst(), node -> node.isInt() && node.intValue() >= 0 && node.intValue() <= 100, "places 0..100").intValue();
        BigDecimal number = number("round", value);
        return value.isIntegralNumber() ? value : number(number.setScale(places, RoundingMode.HALF_UP));
    }

    private static JsonNode number(BigDecimal number) throws EvaluationException {
        // More digits could be stored and not be read again.
        if (number.precision() > Json.MAX_NUMBER_DIGITS) {
            throw new EvaluationException(
                    Problem.of("EXPRESSION_BOUND", "a number has more than " + Json.MAX_NUMBER_DIGITS + " digits"));
        }
        boolean plain = number.scale() <= 0 && number.precision() - number.scale() <= 18;
        return Json.number(plain ? number.setScale(0) : number);
    }

    static void bound(long length) throws EvaluationException {
        if (length > Expressions.MAX_OUTPUT) {
            throw new EvaluationException(
                    Problem.of("EXPRESSION_BOUND", "a template gives more than " + Expressions.MAX_OUTPUT + " characters"));
        }
    }

    private static EvaluationException failed(String message) {
        return new EvaluationException(Problem.of("TEMPLATE_FILTER", message));
    }

    private static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}

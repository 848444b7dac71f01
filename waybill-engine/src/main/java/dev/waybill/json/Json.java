package dev.waybill.json;

import dev.waybill.model.WaybillException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamWriteConstraints;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * The one place where JSON text becomes a tree and back. What two readers could understand differently is refused, because signer,
 * deduplication and provider must believe the same value (cases A25-A28, A37): duplicate members, lone surrogates, invalid UTF-8,
 * depth and numbers nobody means. Numbers keep the digits they came with.
 */
public final class Json {
    /** Containers inside one another. */
    public static final int MAX_DEPTH = 64;

    /** As {@link #MAX_DEPTH}, in a sequence document. */
    public static final int MAX_DEFINITION_DEPTH = 320;

    /** Digits of one number, before and after the point together. */
    public static final int MAX_NUMBER_DIGITS = 1_000;

    /** Absolute value of a written exponent. */
    public static final int MAX_EXPONENT = 10_000;

    /** The deepest a lenient reader goes: what we build we must also be able to write, on a small stack. */
    public static final int MAX_LENIENT_DEPTH = 512;

    public static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    /** Every limit that matters is checked here, with our own codes; a body's size is bounded before it is parsed. */
    private static final JsonFactory FACTORY = JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(MAX_LENIENT_DEPTH + 1)
                    .maxNumberLength(Integer.MAX_VALUE)
                    .maxStringLength(Integer.MAX_VALUE)
                    .maxNameLength(Integer.MAX_VALUE)
                    .build())
            .streamWriteConstraints(StreamWriteConstraints.builder().maxNestingDepth(MAX_LENIENT_DEPTH + 8).build())
            .build();
    private static final JsonMapper MAPPER = new JsonMapper(FACTORY);

    private Json() {}

    /**
     * @throws WaybillException 400 with DUPLICATE_MEMBER, INVALID_UNICODE, JSON_TOO_DEEP, NUMBER_OUT_OF_RANGE or MALFORMED_JSON;
     *     the pointer (RFC 6901) names the place
     */
    public static JsonNode parse(String text) {
        return read(text.toCharArray(), text.length(), MAX_DEPTH);
    }

    /** As {@link #parse(String)} for sequence documents: 64 nested blocks need up to four containers each. */
    public static JsonNode parseDefinition(String text) {
        return read(text.toCharArray(), text.length(), MAX_DEFINITION_DEPTH);
    }

    /** As {@link #parseDefinition(String)}, from UTF-8. */
    public static JsonNode parseDefinition(byte[] utf8) {
        return parse(utf8, MAX_DEFINITION_DEPTH);
    }

    /** As {@link #parse(String)}, from UTF-8; other encodings and malformed bytes are INVALID_UNICODE. */
    public static JsonNode parse(byte[] utf8) {
        return parse(utf8, MAX_DEPTH);
    }

    /**
     * For a provider's reply, whose text we do not control: empty when it is not JSON by the strict rules or nested deeper than
     * {@code maxDepth} (at most {@link #MAX_LENIENT_DEPTH}); the caller then keeps the bytes (case A37).
     */
    public static Optional<JsonNode> tryParse(byte[] utf8, int maxDepth) {
        try {
            return Optional.of(parse(utf8, Math.min(maxDepth, MAX_LENIENT_DEPTH)));
        } catch (WaybillException notJson) {
            return Optional.empty();
        }
    }

    /** As {@link #tryParse(byte[], int)} with {@link #MAX_DEPTH}. */
    public static Optional<JsonNode> tryParse(byte[] utf8) {
        return tryParse(utf8, MAX_DEPTH);
    }

    /** Compact text. Control characters are escaped, U+0000 too, so that the text can live in a database column (case A28). */
    public static String write(JsonNode node) {
        return MAPPER.writeValueAsString(node);
    }

    /** As {@link #write}, in UTF-8. */
    public static byte[] writeBytes(JsonNode node) {
        return MAPPER.writeValueAsBytes(node);
    }

    private static JsonNode parse(byte[] utf8, int maxDepth) {
        CharBuffer chars;
        try {
            chars = StandardCharsets.UTF_8
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(utf8));
        } catch (CharacterCodingException e) {
            throw WaybillException.badRequest("INVALID_UNICODE", "the text is not valid UTF-8", null);
        }
        return read(chars.array(), chars.limit(), maxDepth);
    }

    private static JsonNode read(char[] text, int length, int maxDepth) {
        try (JsonParser parser = MAPPER.createParser(text, 0, length)) {
            if (parser.nextToken() == null) {
                throw malformed("the text is empty", parser.currentLocation(), null);
            }
            JsonNode node = value(parser, maxDepth);
            if (parser.nextToken() != null) {
                throw malformed("there is text after the end of the value", parser.currentTokenLocation(), null);
            }
            return node;
        } catch (JacksonException e) {
            String message = e.getOriginalMessage();
            // In names the library finds half pairs itself, while it reads.
            if (message != null && message.contains("surrogate")) {
                throw WaybillException.badRequest("INVALID_UNICODE", "a name holds half of a surrogate pair", null);
            }
            throw malformed(message, e.getLocation(), null);
        }
    }

    private static JsonNode value(JsonParser parser, int depthLeft) {
        return switch (parser.currentToken()) {
            case START_OBJECT -> object(parser, deeper(parser, depthLeft));
            case START_ARRAY -> array(parser, deeper(parser, depthLeft));
            case VALUE_STRING -> NODES.stringNode(unicode(parser, parser.getString()));
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> number(parser);
            case VALUE_TRUE -> NODES.booleanNode(true);
            case VALUE_FALSE -> NODES.booleanNode(false);
            case VALUE_NULL -> NODES.nullNode();
            case END_OBJECT, END_ARRAY, PROPERTY_NAME, VALUE_EMBEDDED_OBJECT, NOT_AVAILABLE ->
                throw malformed("a value is missing", parser.currentTokenLocation(), pointer(parser));
        };
    }

    private static int deeper(JsonParser parser, int depthLeft) {
        if (depthLeft == 0) {
            throw WaybillException.badRequest("JSON_TOO_DEEP", "arrays and objects are nested too deeply", null);
        }
        return depthLeft - 1;
    }

    private static ObjectNode object(JsonParser parser, int depthLeft) {
        ObjectNode object = NODES.objectNode();
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
            String name = unicode(parser, parser.currentName());
            parser.nextToken();
            // Names are compared unescaped, so "id" and "\u0069d" are one member (case A27).
            if (object.replace(name, value(parser, depthLeft)) != null) {
                throw WaybillException.badRequest(
                        "DUPLICATE_MEMBER", "member " + write(NODES.stringNode(name)) + " occurs twice in one object", pointer(parser));
            }
        }
        return object;
    }

    private static ArrayNode array(JsonParser parser, int depthLeft) {
        ArrayNode array = NODES.arrayNode();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            array.add(value(parser, depthLeft));
        }
        return array;
    }

    /** Looks at the text before any number is built: {@code 1e1000000000} must cost nothing (case A25). */
    private static JsonNode number(JsonParser parser) {
        if (parser.currentToken() == JsonToken.VALUE_NUMBER_INT && parser.getStringLength() <= 18) {
            return integer(parser.getLongValue());
        }
        String text = parser.getString();
        int exponentAt = Math.max(text.indexOf('e'), text.indexOf('E'));
        int mantissaEnd = exponentAt < 0 ? text.length() : exponentAt;
        int digits = mantissaEnd - (text.charAt(0) == '-' ? 1 : 0) - (text.indexOf('.') >= 0 ? 1 : 0);
        if (digits > MAX_NUMBER_DIGITS || (exponentAt >= 0 && exponentTooLarge(text, exponentAt + 1))) {
            throw outOfRange(parser);
        }
        if (parser.currentToken() == JsonToken.VALUE_NUMBER_FLOAT) {
            BigDecimal decimal = new BigDecimal(text);
            if (!printsWithinBounds(decimal)) {
                throw outOfRange(parser);
            }
            return number(decimal);
        }
        return integer(new BigInteger(text));
    }

    /** 11e10000 is written as 1.1E+10001, and 1.2e-6 as 0.0000012: what was accepted once must be accepted again. */
    private static boolean printsWithinBounds(BigDecimal value) {
        long exponent = value.precision() - 1L - value.scale();
        boolean plain = value.scale() >= 0 && exponent >= -6;
        return plain ? Math.max(value.precision(), value.scale() + 1) <= MAX_NUMBER_DIGITS : Math.abs(exponent) <= MAX_EXPONENT;
    }

    private static WaybillException outOfRange(JsonParser parser) {
        return WaybillException.badRequest(
                "NUMBER_OUT_OF_RANGE",
                "a number has more than " + MAX_NUMBER_DIGITS + " digits or an exponent beyond " + MAX_EXPONENT,
                pointer(parser));
    }

    /** The node that {@link #parse} gives for this integer, so that computed and parsed values are equal trees. */
    public static JsonNode integer(long value) {
        return value == (int) value ? NODES.numberNode((int) value) : NODES.numberNode(value);
    }

    /** As {@link #integer(long)}: 5e0 is written as 5, so it is read as 5, and what the store gives back is the same tree. */
    public static JsonNode number(BigDecimal value) {
        return value.scale() == 0 ? integer(value.unscaledValue()) : NODES.numberNode(value);
    }

    private static JsonNode integer(BigInteger value) {
        return value.bitLength() < 64 ? integer(value.longValue()) : NODES.numberNode(value);
    }

    private static boolean exponentTooLarge(String text, int from) {
        long exponent = 0;
        for (int i = from; i < text.length() && exponent <= MAX_EXPONENT; i++) {
            char c = text.charAt(i);
            if (c >= '0' && c <= '9') {
                exponent = exponent * 10 + (c - '0');
            }
        }
        return exponent > MAX_EXPONENT;
    }

    private static String unicode(JsonParser parser, String text) {
        if (hasLoneSurrogate(text)) {
            // Java would encode it as '?', and two texts would become one (case A26).
            throw WaybillException.badRequest("INVALID_UNICODE", "a string holds half of a surrogate pair", pointer(parser));
        }
        return text;
    }

    /** Whether {@code text} holds a UTF-16 surrogate without its other half: such a string has no UTF-8 form. */
    public static boolean hasLoneSurrogate(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE) {
                continue;
            }
            if (Character.isLowSurrogate(c) || i + 1 == text.length() || !Character.isLowSurrogate(text.charAt(i + 1))) {
                return true;
            }
            i++;
        }
        return false;
    }

    private static String pointer(JsonParser parser) {
        String pointer = parser.streamReadContext().pathAsPointer().toString();
        // The pointer goes back to the caller as JSON: a broken name must not break the answer too.
        return hasLoneSurrogate(pointer) ? pointer.replaceAll("[\\ud800-\\udfff]", "\ufffd") : pointer;
    }

    private static WaybillException malformed(@Nullable String why, @Nullable TokenStreamLocation at, @Nullable String pointer) {
        String place = at == null || at.getLineNr() < 0 ? "" : " (line " + at.getLineNr() + ", column " + at.getColumnNr() + ")";
        String message = why == null ? "not JSON" : why;
        return WaybillException.badRequest("MALFORMED_JSON", (hasLoneSurrogate(message) ? "not JSON" : message) + place, pointer);
    }
}

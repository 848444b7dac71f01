package dev.waybill.json;

import java.util.Random;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Random JSON values of the shapes that break canonical forms; the same seed gives the same values. */
final class JsonGenerator {
    private static final String[] TEXTS = {
        "", "a", "b", "id", "é", "e\u0301", "\uFB33", "\uD83D\uDE00", "\0", "\u001f", "\"", "\\", "/", "\u2028", "$secret_text", "1", "null"
    };
    private final Random random;

    JsonGenerator(Random random) {
        this.random = random;
    }

    JsonNode node(int depth) {
        return switch (random.nextInt(depth > 0 ? 8 : 6)) {
            case 0 -> Json.NODES.nullNode();
            case 1 -> Json.NODES.booleanNode(random.nextBoolean());
            case 2, 3 -> Json.parse(number());
            case 4, 5 -> Json.NODES.stringNode(text());
            case 6 -> {
                ArrayNode array = Json.NODES.arrayNode();
                for (int i = random.nextInt(4); i > 0; i--) {
                    array.add(node(depth - 1));
                }
                yield array;
            }
            default -> {
                ObjectNode object = Json.NODES.objectNode();
                for (int i = random.nextInt(5); i > 0; i--) {
                    object.set(text(), node(depth - 1));
                }
                yield object;
            }
        };
    }

    String text() {
        return TEXTS[random.nextInt(TEXTS.length)] + (random.nextInt(3) == 0 ? TEXTS[random.nextInt(TEXTS.length)] : "");
    }

    String number() {
        String sign = random.nextBoolean() ? "-" : "";
        return sign + switch (random.nextInt(6)) {
            case 0 -> String.valueOf(random.nextInt(10));
            case 1 -> String.valueOf((1L << 53) - 2 + random.nextInt(5));
            case 2 -> random.nextInt(1, 1000) + "." + random.nextInt(1000);
            case 3 -> random.nextInt(1, 10) + "e" + (random.nextInt(700) - 350);
            case 4 -> String.valueOf(Math.abs(Double.longBitsToDouble(random.nextLong() & 0x7fefffffffffffffL)));
            default -> digits(1 + random.nextInt(40)) + (random.nextBoolean() ? "" : "." + digits(1 + random.nextInt(20)));
        };
    }

    private String digits(int count) {
        StringBuilder text = new StringBuilder().append(1 + random.nextInt(9));
        while (text.length() < count) {
            text.append(random.nextInt(10));
        }
        return text.toString();
    }
}

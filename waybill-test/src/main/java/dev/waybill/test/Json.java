package dev.waybill.test;

import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.cfg.JsonNodeFeature;
import tools.jackson.databind.json.JsonMapper;

final class Json {
    /** Exact numbers; an unknown member is an error, because a misspelt fault script must not pass for none. */
    static final JsonMapper MAPPER = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS, DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .build();

    private Json() {}

    /** Members in order, so that equal values have equal bytes. */
    static byte[] sorted(JsonNode node) {
        return MAPPER.writer().with(JsonNodeFeature.WRITE_PROPERTIES_SORTED).writeValueAsBytes(node);
    }
}

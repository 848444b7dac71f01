package dev.waybill.model;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a provider answered, as it came: kept on the receipt as evidence.
 *
 * @param status    HTTP status, or 0 where the handler is not HTTP
 * @param headers   lower-case names; values in the order they came
 * @param body      the bytes received, at most the reply cap (10 MiB)
 * @param truncated true when the body was cut by the network or by our cap
 */
public record Reply(int status, Map<String, List<String>> headers, byte @Nullable [] body, boolean truncated) {}

package dev.waybill.transport;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One request, complete and legal; {@link HttpTransport#send} sends it once.
 *
 * @param headers       valid field names and values, secrets revealed; the transport adds Host, Content-Length, Connection and
 *                      Accept-Encoding
 * @param body          sent as it is; null = none
 * @param timeout       from connect to the last byte of the answer
 * @param maxReplyBytes a longer answer is not kept
 * @param late          the last look, asked right before the first byte: true = send nothing
 * @param firstByte     run after the last look, before the first byte is handed to the socket (TLS: before the first application
 *                      data); throws IllegalStateException to have nothing sent
 */
public record WireRequest(
        Destination destination,
        String method,
        List<Map.Entry<String, String>> headers,
        byte @Nullable [] body,
        Duration timeout,
        int maxReplyBytes,
        BooleanSupplier late,
        Runnable firstByte) {}

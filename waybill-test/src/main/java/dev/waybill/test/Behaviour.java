package dev.waybill.test;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What the provider does with one request: whether it books, what it says, and what really goes over the wire.
 *
 * @param books           false: the API never hears of the request
 * @param beforeBooking   what must happen before it books; null = nothing
 * @param beforeAnswer    what must happen between booking and the answer; null = nothing
 * @param status          instead of the API's own status, or null
 * @param headers         in addition to the API's own
 * @param body            instead of the API's own body, or null
 * @param wire            how the answer is sent, or not
 * @param closeAfterMillis this long after the answer the connection is closed without reading from it again; null = kept alive
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Behaviour(
        boolean books,
        @Nullable Hold beforeBooking,
        @Nullable Hold beforeAnswer,
        @Nullable Integer status,
        @Nullable Map<String, String> headers,
        @Nullable String body,
        Wire wire,
        @Nullable Long closeAfterMillis) {

    /** How an answer goes over the wire. */
    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "how")
    @JsonSubTypes({
        @JsonSubTypes.Type(value = Wire.Whole.class, name = "whole"),
        @JsonSubTypes.Type(value = Wire.Reset.class, name = "reset"),
        @JsonSubTypes.Type(value = Wire.Close.class, name = "close"),
        @JsonSubTypes.Type(value = Wire.Silence.class, name = "silence"),
        @JsonSubTypes.Type(value = Wire.Stall.class, name = "stall"),
        @JsonSubTypes.Type(value = Wire.Truncated.class, name = "truncated"),
        @JsonSubTypes.Type(value = Wire.ChunkWithoutEnd.class, name = "chunk_without_end"),
        @JsonSubTypes.Type(value = Wire.CloseDelimited.class, name = "close_delimited"),
        @JsonSubTypes.Type(value = Wire.PartialStatusLine.class, name = "partial_status_line"),
        @JsonSubTypes.Type(value = Wire.Garbage.class, name = "garbage"),
        @JsonSubTypes.Type(value = Wire.Drip.class, name = "drip"),
        @JsonSubTypes.Type(value = Wire.Big.class, name = "big")
    })
    public sealed interface Wire {
        /** Head with Content-Length, then the body. */
        record Whole() implements Wire {}

        /** RST, not a byte. */
        record Reset() implements Wire {}

        /** FIN, not a byte. */
        record Close() implements Wire {}

        /** Nothing, until released or {@code millis} have passed (0 = for ever); then FIN. */
        record Silence(long millis) implements Wire {}

        /** Head with the whole Content-Length, {@code bytes} of the body, then silence until released. */
        record Stall(int bytes) implements Wire {}

        /** Content-Length {@code declared}, {@code sent} bytes, FIN. */
        record Truncated(int declared, int sent) implements Wire {}

        /** The body as one whole chunk, no last chunk, FIN. */
        record ChunkWithoutEnd() implements Wire {}

        /** No length; {@code bytes} of the body (-1 = all), FIN. */
        record CloseDelimited(int bytes) implements Wire {}

        /** {@code HTTP/1.1 2}, FIN. */
        record PartialStatusLine() implements Wire {}

        /** Bytes that are no HTTP, FIN. */
        record Garbage() implements Wire {}

        /** Head at once, the body slowly. */
        record Drip(int bytesPerSecond) implements Wire {}

        /** A sound JSON answer padded to exactly {@code bytes}. */
        record Big(long bytes) implements Wire {}
    }

    /** What is waited for. Closing the provider ends every wait. */
    @JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "until")
    @JsonSubTypes({
        @JsonSubTypes.Type(value = Hold.Released.class, name = "released"),
        @JsonSubTypes.Type(value = Hold.Passed.class, name = "passed"),
        @JsonSubTypes.Type(value = Hold.Arrived.class, name = "arrived")
    })
    public sealed interface Hold {
        /** {@link FakeProvider#release} was called for this delivery. */
        record Released() implements Hold {}

        record Passed(long millis) implements Hold {}

        /** A matching request has arrived, before or after this one. */
        record Arrived(Match match) implements Hold {}

        /** As {@link Arrived}, with a condition in code; such a behaviour stays in its process. */
        record ArrivedIf(Predicate<Delivery> condition) implements Hold {}

        /** The latch is open; such a behaviour stays in its process. */
        record Open(CountDownLatch latch) implements Hold {}
    }

    private static final Wire WHOLE = new Wire.Whole();

    private static Behaviour booking(Wire wire) {
        return new Behaviour(true, null, null, null, null, null, wire, null);
    }

    /** What the API does by itself. */
    public static Behaviour normal() {
        return booking(WHOLE);
    }

    /** Books, then says this instead of the API's own answer. */
    public static Behaviour applyThenAnswer(int status, Map<String, String> headers, String body) {
        return new Behaviour(true, null, null, status, headers, body, WHOLE, null);
    }

    /** Books, then gives this status with the API's own body. */
    public static Behaviour applyThenAnswer(int status) {
        return new Behaviour(true, null, null, status, null, null, WHOLE, null);
    }

    /** Says this and books nothing. */
    public static Behaviour answer(int status, Map<String, String> headers, String body) {
        return new Behaviour(false, null, null, status, headers, body, WHOLE, null);
    }

    /** This status, a JSON body that names it, and nothing booked. */
    public static Behaviour answer(int status) {
        return answer(status, Map.of(), "{\"error\":{\"code\":\"status_" + status + "\"}}");
    }

    /** Books, then RST. */
    public static Behaviour applyThenDrop() {
        return booking(new Wire.Reset());
    }

    /** Books, then FIN. */
    public static Behaviour applyThenClose() {
        return booking(new Wire.Close());
    }

    /** Reads the request, books nothing, RST. */
    public static Behaviour dropBeforeApply() {
        return new Behaviour(false, null, null, null, null, null, new Wire.Reset(), null);
    }

    /** Reads the request, books nothing, never answers (until released). */
    public static Behaviour swallow() {
        return new Behaviour(false, null, null, null, null, null, new Wire.Silence(0), null);
    }

    /** Books and never answers (until released). */
    public static Behaviour applyThenSwallow() {
        return booking(new Wire.Silence(0));
    }

    /** Books, sends the head and {@code bytes} of the body, then silence (until released). */
    public static Behaviour applyThenStall(int bytes) {
        return booking(new Wire.Stall(bytes));
    }

    public static Behaviour truncatedBody(int declared, int sent) {
        return booking(new Wire.Truncated(declared, sent));
    }

    public static Behaviour chunkWithoutTerminator() {
        return booking(new Wire.ChunkWithoutEnd());
    }

    /** @param bytes how much of the body, -1 = all of it */
    public static Behaviour closeDelimited(int bytes) {
        return booking(new Wire.CloseDelimited(bytes));
    }

    public static Behaviour partialStatusLine() {
        return booking(new Wire.PartialStatusLine());
    }

    public static Behaviour garbage() {
        return booking(new Wire.Garbage());
    }

    public static Behaviour drip(int bytesPerSecond) {
        return booking(new Wire.Drip(bytesPerSecond));
    }

    public static Behaviour bigBody(long bytes) {
        return booking(new Wire.Big(bytes));
    }

    /** Books nothing and points elsewhere. */
    public static Behaviour redirect(int status, String location) {
        return answer(status, Map.of("Location", location), "");
    }

    /** Books nothing. @param retryAfter the header's text, sound or not */
    public static Behaviour retryAfter(int status, String retryAfter) {
        return answer(status).with("Retry-After", retryAfter);
    }

    /** Answers only after a matching request has arrived. */
    public static Behaviour answerAfterArrivalOf(Match match) {
        return normal().holdUntil(new Hold.Arrived(match));
    }

    /** Answers only after a request that fits has arrived. */
    public static Behaviour answerAfterArrivalOf(Predicate<Delivery> condition) {
        return normal().holdUntil(new Hold.ArrivedIf(condition));
    }

    /** Books, then waits for {@link FakeProvider#release} before it answers. */
    public static Behaviour pauseAfterBooking() {
        return normal().holdUntil(new Hold.Released());
    }

    /** Does not answer before the latch is open; has booked by then. */
    public Behaviour holdUntil(CountDownLatch latch) {
        return holdUntil(new Hold.Open(latch));
    }

    public Behaviour holdUntil(Hold hold) {
        return new Behaviour(books, beforeBooking, hold, status, headers, body, wire, closeAfterMillis);
    }

    /** Books at once and answers this much later. */
    public Behaviour answeredAfter(Duration delay) {
        return holdUntil(new Hold.Passed(delay.toMillis()));
    }

    /** The late landing: it has the request and books only then. */
    public Behaviour bookedOnlyAfter(Hold hold) {
        return new Behaviour(books, hold, beforeAnswer, status, headers, body, wire, closeAfterMillis);
    }

    public Behaviour with(String header, String value) {
        Map<String, String> more = new TreeMap<>(headers == null ? Map.of() : headers);
        more.put(header, value);
        return new Behaviour(books, beforeBooking, beforeAnswer, status, more, body, wire, closeAfterMillis);
    }

    public Behaviour sentAs(Wire otherWire) {
        return new Behaviour(books, beforeBooking, beforeAnswer, status, headers, body, otherWire, closeAfterMillis);
    }

    /** Closes the connection that long after the answer, without reading what the client may have sent by then (case A04). */
    public Behaviour closeAfterMillis(long millis) {
        return new Behaviour(books, beforeBooking, beforeAnswer, status, headers, body, wire, millis);
    }

    boolean waitsForCode() {
        return beforeBooking instanceof Hold.Open
                || beforeBooking instanceof Hold.ArrivedIf
                || beforeAnswer instanceof Hold.Open
                || beforeAnswer instanceof Hold.ArrivedIf;
    }

    /** For the ledger: null when nothing is out of the ordinary. */
    @Nullable String label() {
        String how = wire.getClass().getSimpleName();
        String label = (books ? "" : "not booked ")
                + (beforeBooking == null ? "" : "booked late ")
                + (beforeAnswer == null ? "" : "answered late ")
                + (status == null ? "" : status + " ")
                + (wire instanceof Wire.Whole ? "" : how)
                + (closeAfterMillis == null ? "" : "closed after " + closeAfterMillis + " ms");
        return label.isEmpty() ? null : label.strip();
    }
}

package dev.waybill.transport;

import dev.waybill.json.Json;
import dev.waybill.json.Redactor;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Proof;
import dev.waybill.model.Reply;
import dev.waybill.transport.HttpOutput.Content;
import dev.waybill.transport.WireAnswer.Completeness;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The outcome table of semantics.md section 4: what one send came to, from the phase it reached and the answer. Pure. */
public final class HttpOutcome {
    /** Retryable: nothing was sent, because nobody could be reached. */
    public static final String DESTINATION_UNREACHABLE = "DESTINATION_UNREACHABLE";
    /** Retryable: nothing was sent, because the last look came too late. */
    public static final String SEND_DEADLINE_PASSED = "SEND_DEADLINE_PASSED";
    /** Retryable: nothing was sent, because the node drains or the step was stopped. */
    public static final String CALL_INTERRUPTED = "CALL_INTERRUPTED";
    /** The provider answered no. */
    public static final String HTTP_REJECTED = "HTTP_REJECTED";
    /** Retryable: the provider says it did nothing and wants to be asked again. */
    public static final String HTTP_RETRY_LATER = "HTTP_RETRY_LATER";
    /** 307 and 308: a new destination would be a new effect. */
    public static final String REDIRECT_NOT_FOLLOWED = "REDIRECT_NOT_FOLLOWED";

    public static final String OUTPUT_TOO_LARGE = "OUTPUT_TOO_LARGE";

    /** Largest body that is repeated in a problem's details, in bytes. */
    private static final int DETAIL_BYTES = 16 * 1024;

    private static final List<String> DROPPED_HEADERS = List.of("set-cookie", "set-cookie2");

    private HttpOutcome() {}

    /** How a status reads. */
    private enum Meaning {
        COMMITTED,
        REJECTED,
        RETRY_LATER,
        REDIRECTED,
        UNKNOWN
    }

    /**
     * @param subject        method and destination without query, for messages
     * @param statusMap      the author's or the profile's word on a status; goes before the table
     * @param earlierUnknown an earlier receipt of this effect is unknown: 404 409 410 412 422 may then mean "already done"
     * @param maxReplyBytes  the cap that {@link Completeness#TOO_LARGE} passed
     * @param redactor       knows the secrets of the request; nothing of them is left in the outcome (case A36)
     */
    public static Outcome of(
            WireAnswer answer,
            String subject,
            Map<Integer, String> statusMap,
            boolean earlierUnknown,
            int maxReplyBytes,
            Redactor redactor,
            Instant now) {
        return switch (answer.phase()) {
            case NOT_SENT -> notSent(answer, subject, redactor);
            case MAYBE_SENT -> new Outcome.Unknown(
                    answer.stop(),
                    redactor.redact(subject + ": the request may have arrived, no answer came" + because(answer)),
                    null);
            case ANSWERED -> answered(answer, subject, statusMap, earlierUnknown, maxReplyBytes, redactor, now);
        };
    }

    private static Outcome notSent(WireAnswer answer, String subject, Redactor redactor) {
        Problem problem = switch (answer.stop()) {
            case WireAnswer.STOP_LATE -> Problem.retryable(
                    SEND_DEADLINE_PASSED, subject + ": the send deadline had passed before the first byte; nothing was sent");
            case WireAnswer.STOP_INTERRUPTED -> Problem.retryable(
                    CALL_INTERRUPTED, subject + ": stopped before the first byte; nothing was sent");
            case WireAnswer.STOP_UNSENDABLE -> Problem.of("PARAM_INVALID", subject + ": " + answer.cause() + "; nothing was sent");
            default -> Problem.retryable(
                    DESTINATION_UNREACHABLE, subject + " could not be reached, nothing was sent" + because(answer));
        };
        return new Outcome.NotApplied(Proof.NOT_SENT, redacted(problem, redactor), null, null);
    }

    private static Outcome answered(
            WireAnswer answer,
            String subject,
            Map<Integer, String> statusMap,
            boolean earlierUnknown,
            int maxReplyBytes,
            Redactor redactor,
            Instant now) {
        int status = answer.status();
        Reply reply = reply(answer, redactor);
        String answered = redactor.redact(subject + " answered " + status);
        return switch (meaning(status, statusMap, earlierUnknown)) {
            case COMMITTED -> committed(answer, reply, answered, maxReplyBytes, redactor);
            case REJECTED -> new Outcome.NotApplied(
                    Proof.REJECTED, new Problem(HTTP_REJECTED, answered, false, details(answer, reply, redactor)), null, reply);
            case RETRY_LATER -> new Outcome.NotApplied(
                    status == 421 || status == 425 ? Proof.REFUSED_BY_PROTOCOL : Proof.REJECTED,
                    new Problem(HTTP_RETRY_LATER, answered, true, details(answer, reply, redactor)),
                    retryAfter(answer, now),
                    reply);
            case REDIRECTED -> new Outcome.NotApplied(
                    Proof.REJECTED,
                    new Problem(
                            REDIRECT_NOT_FOLLOWED,
                            answered + "; redirects are not followed: call the new address itself",
                            false,
                            details(answer, reply, redactor)),
                    null,
                    reply);
            case UNKNOWN -> new Outcome.Unknown(
                    status == 301 || status == 302 || status == 303 ? "redirect_" + status : "status_" + status,
                    answered + ", which does not say whether it was done",
                    reply);
        };
    }

    private static Meaning meaning(int status, Map<Integer, String> statusMap, boolean earlierUnknown) {
        String mapped = statusMap.get(status);
        if (mapped != null) {
            return switch (mapped) {
                case "committed" -> Meaning.COMMITTED;
                case "rejected" -> Meaning.REJECTED;
                case "not_applied" -> Meaning.RETRY_LATER;
                default -> Meaning.UNKNOWN;
            };
        }
        return switch (status) {
            case 307, 308 -> Meaning.REDIRECTED;
            case 421, 425, 429 -> Meaning.RETRY_LATER;
            case 404, 409, 410, 412, 422 -> earlierUnknown ? Meaning.UNKNOWN : Meaning.REJECTED;
            case 408, 423, 424, 499 -> Meaning.UNKNOWN;
            case 501, 505 -> Meaning.REJECTED;
            default -> switch (status / 100) {
                case 2 -> Meaning.COMMITTED;
                case 4 -> Meaning.REJECTED;
                default -> Meaning.UNKNOWN;
            };
        };
    }

    private static Outcome committed(WireAnswer answer, Reply reply, String answered, int maxReplyBytes, Redactor redactor) {
        if (answer.completeness() == Completeness.CUT) {
            return new Outcome.OutputLost(redactor.redact(answered + ", and its body was cut" + because(answer)), reply);
        }
        if (answer.completeness() == Completeness.TOO_LARGE) {
            ObjectNode details = Json.NODES.objectNode();
            details.put("status", answer.status()).put("body_truncated", true).put("limit_bytes", maxReplyBytes);
            Problem problem = new Problem(
                    OUTPUT_TOO_LARGE, answered + " with more than " + maxReplyBytes + " bytes; it was done, do not send again", false,
                    details);
            return new Outcome.OutputUnusable(problem, null, reply);
        }
        Content content = HttpOutput.content(answer.headers(), answer.body(), redactor);
        if (answer.completeness() == Completeness.UNPROVEN && !endsByItself(content)) {
            String why = answered + ", and its body ended with the connection: nothing shows that it is complete";
            return new Outcome.OutputLost(why, new Reply(reply.status(), reply.headers(), reply.body(), true));
        }
        return switch (content) {
            case Content.Unstorable(Problem problem) -> new Outcome.OutputUnusable(
                    new Problem(problem.code(), answered + ": " + redactor.redact(problem.message()), false, null), null, reply);
            case Content.Data(JsonNode body, boolean _) -> new Outcome.Committed(
                    HttpOutput.of(answer.status(), reply.headers(), body), HttpOutput.receiptId(body), reply);
        };
    }

    /** JSON that shows its own end; a number does not: {@code 12} may have been {@code 123} (case A11). */
    private static boolean endsByItself(Content content) {
        return content instanceof Content.Data(JsonNode value, boolean json) && json && !value.isNumber();
    }

    private static Reply reply(WireAnswer answer, Redactor redactor) {
        Map<String, List<String>> headers = new LinkedHashMap<>();
        answer.headers().forEach((name, values) -> {
            // A cookie is a credential of the provider's making; nothing here ever sends one back.
            if (!DROPPED_HEADERS.contains(name)) headers.put(name, values.stream().map(redactor::redact).toList());
        });
        boolean tooLarge = answer.completeness() == Completeness.TOO_LARGE;
        byte[] body = redactor.redact(answer.body());
        if (tooLarge && body.length > WireAnswer.KEPT_OF_TOO_LARGE) body = Arrays.copyOf(body, WireAnswer.KEPT_OF_TOO_LARGE);
        return new Reply(answer.status(), headers, body, tooLarge || answer.completeness() == Completeness.CUT);
    }

    /** What a catch block or {@code non_retryable_codes} can look at: status, the provider's own error code, its body when small. */
    private static ObjectNode details(WireAnswer answer, Reply reply, Redactor redactor) {
        ObjectNode details = Json.NODES.objectNode();
        details.put("status", answer.status());
        String location = HttpOutput.first(reply.headers(), "location");
        if (location != null) details.put("location", location.replaceFirst("[?#].*", "").replaceFirst("//[^/@]*@", "//"));
        if (answer.body().length > DETAIL_BYTES) return details;
        if (HttpOutput.content(answer.headers(), answer.body(), redactor) instanceof Content.Data(JsonNode body, boolean json)) {
            details.set("body", body);
            JsonNode code = json ? errorCode(body) : null;
            if (code != null) details.set("error_code", code);
        }
        return details;
    }

    private static @Nullable JsonNode errorCode(JsonNode body) {
        for (JsonNode code : List.of(body.path("error_code"), body.path("code"), body.path("error").path("code"))) {
            if (code.isString() || code.isIntegralNumber()) return code;
        }
        return null;
    }

    private static @Nullable Duration retryAfter(WireAnswer answer, Instant now) {
        return RetryAfter.parse(HttpOutput.first(answer.headers(), "retry-after"), now, RetryAfter.CAP);
    }

    private static Problem redacted(Problem problem, Redactor redactor) {
        return new Problem(problem.code(), redactor.redact(problem.message()), problem.retryable(), problem.details());
    }

    private static String because(WireAnswer answer) {
        return switch (answer.stop()) {
            case WireAnswer.STOP_TIMEOUT -> ": timed out";
            case WireAnswer.STOP_INTERRUPTED -> ": interrupted";
            case WireAnswer.STOP_GARBLED -> ": what came is not HTTP";
            case WireAnswer.STOP_CLOSED -> ": the connection was closed";
            case WireAnswer.STOP_RESET -> ": the connection was reset";
            default -> answer.cause().isEmpty() ? "" : ": " + answer.cause();
        };
    }
}

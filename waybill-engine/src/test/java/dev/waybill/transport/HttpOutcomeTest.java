package dev.waybill.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Redactor;
import dev.waybill.model.Outcome;
import dev.waybill.model.Proof;
import dev.waybill.transport.WireAnswer.Completeness;
import dev.waybill.transport.WireAnswer.Phase;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The outcome table of semantics.md section 4, cell by cell. */
class HttpOutcomeTest {
    private static final Set<Integer> REJECTED = numbers("400 401 402 403 405 406 407 411 413 414 415 416 417 418 426 428 431 451 501 505");
    private static final Set<Integer> LATER = numbers("421 425 429");
    private static final Set<Integer> PERHAPS_DONE = numbers("404 409 410 412 422");
    private static final Set<Integer> UNKNOWN = numbers("408 423 424 499 500 502 503 504 507 508 520 521 522 523 524 525 526 527 300 304 305 306 101");

    @Test
    void everyStatusHasItsPlaceInTheTable() {
        for (int status = 100; status <= 999; status++) {
            for (boolean earlierUnknown : new boolean[] {false, true}) {
                Outcome outcome = of(status, earlierUnknown);
                String expected;
                if (status / 100 == 2) expected = "committed";
                else if (LATER.contains(status)) expected = "later";
                else if (status == 307 || status == 308) expected = "redirected";
                else if (PERHAPS_DONE.contains(status)) expected = earlierUnknown ? "unknown" : "rejected";
                else if (UNKNOWN.contains(status)) expected = "unknown";
                else if (REJECTED.contains(status) || status / 100 == 4) expected = "rejected";
                else expected = "unknown";
                assertThat(name(outcome)).as("%d, earlier unknown: %s", status, earlierUnknown).isEqualTo(expected);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"late,SEND_DEADLINE_PASSED,true", "interrupted,CALL_INTERRUPTED,true", "timeout,DESTINATION_UNREACHABLE,true",
        "unreachable,DESTINATION_UNREACHABLE,true", "unsendable,PARAM_INVALID,false"})
    void whatNeverLeftIsNotApplied(String stop, String code, boolean retryable) {
        Outcome.NotApplied no = (Outcome.NotApplied) of(WireAnswer.notSent(stop, "why"), Map.of(), false);
        assertThat(no.proof()).isEqualTo(Proof.NOT_SENT);
        assertThat(no.problem().code()).isEqualTo(code);
        assertThat(no.problem().retryable()).isEqualTo(retryable);
        assertThat(no.reply()).isNull();
    }

    @ParameterizedTest
    @CsvSource({"timeout", "interrupted", "garbled_answer", "closed_without_answer", "reset_after_send"})
    void whatMayHaveLeftIsUnknownForItsReason(String stop) {
        WireAnswer answer = new WireAnswer(Phase.MAYBE_SENT, 0, Map.of(), new byte[0], Completeness.CUT, stop, "");
        assertThat(((Outcome.Unknown) of(answer, Map.of(), false)).reason()).isEqualTo(stop);
    }

    @Test
    void theAuthorsWordOnAStatusGoesFirst() {
        assertThat(name(of(answered(200), Map.of(200, "unknown"), false))).isEqualTo("unknown");
        assertThat(name(of(answered(200), Map.of(200, "rejected"), false))).isEqualTo("rejected");
        assertThat(name(of(answered(409), Map.of(409, "committed"), true))).isEqualTo("committed");
        assertThat(name(of(answered(503), Map.of(503, "not_applied"), false))).isEqualTo("later");
        assertThat(name(of(answered(302), Map.of(302, "committed"), false))).isEqualTo("committed");
    }

    @Test
    void aRefusalByTheProtocolIsItsOwnProof() {
        assertThat(((Outcome.NotApplied) of(425, false)).proof()).isEqualTo(Proof.REFUSED_BY_PROTOCOL);
        assertThat(((Outcome.NotApplied) of(421, false)).proof()).isEqualTo(Proof.REFUSED_BY_PROTOCOL);
        assertThat(((Outcome.NotApplied) of(429, false)).proof()).isEqualTo(Proof.REJECTED);
    }

    @Test
    void aDeclinesBodyMayBeCutWithoutChangingTheDecline() {
        WireAnswer cut = new WireAnswer(Phase.ANSWERED, 402, Map.of(), "{\"a".getBytes(), Completeness.CUT, "cut", "");
        Outcome.NotApplied no = (Outcome.NotApplied) of(cut, Map.of(), false);
        assertThat(no.reply().truncated()).isTrue();
        assertThat(no.reply().body()).asString().isEqualTo("{\"a");
    }

    private static String name(Outcome outcome) {
        return switch (outcome) {
            case Outcome.Committed _, Outcome.OutputLost _, Outcome.OutputUnusable _ -> "committed";
            case Outcome.Unknown _ -> "unknown";
            case Outcome.NotApplied no -> switch (no.problem().code()) {
                case "HTTP_REJECTED" -> "rejected";
                case "REDIRECT_NOT_FOLLOWED" -> "redirected";
                case "HTTP_RETRY_LATER" -> no.problem().retryable() ? "later" : "never";
                default -> no.problem().code();
            };
        };
    }

    private static Outcome of(int status, boolean earlierUnknown) {
        return of(answered(status), Map.of(), earlierUnknown);
    }

    private static WireAnswer answered(int status) {
        Map<String, List<String>> headers = Map.of("content-length", List.of("2"));
        return new WireAnswer(Phase.ANSWERED, status, headers, "{}".getBytes(), Completeness.COMPLETE, "", "");
    }

    private static Outcome of(WireAnswer answer, Map<Integer, String> map, boolean earlierUnknown) {
        return HttpOutcome.of(answer, "POST http://x/", map, earlierUnknown, 1_000, Redactor.NONE, Instant.EPOCH);
    }

    private static Set<Integer> numbers(String text) {
        return Arrays.stream(text.split(" ")).map(Integer::valueOf).collect(Collectors.toUnmodifiableSet());
    }
}

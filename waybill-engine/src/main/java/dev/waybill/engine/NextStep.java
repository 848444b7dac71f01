package dev.waybill.engine;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What the engine will do next about an unknown effect, and when; for people.
 *
 * @param effect        the newest receipt of the chain that is unknown
 * @param path          of the step
 * @param next          verify, resend, person or fail
 * @param at            when, by the database's clock; null = not by itself
 * @param why           why a person is needed, in words; null otherwise
 * @param verifier      whether there is a question that can be asked
 * @param reads         how often it was asked about this receipt
 * @param negativeReads absences in a row that count
 * @param enough        how many of them prove the absence; 0 without a verifier
 * @param lastVerdict   landed, absent, other, inconclusive; null = not asked yet
 * @param resends       how often the request was sent again under its key
 * @param keyWindowEnd  when the destination may forget the key; null without a declared window
 * @param quietAt       when no request of the chain can still arrive
 */
public record NextStep(
        UUID effect,
        String path,
        String next,
        @Nullable Instant at,
        @Nullable String why,
        boolean verifier,
        int reads,
        int negativeReads,
        int enough,
        @Nullable String lastVerdict,
        int resends,
        @Nullable Instant keyWindowEnd,
        Instant quietAt) {

    static NextStep of(Healing.Unknown unknown, boolean ended) {
        Healing.Next next = unknown.next();
        Instant now = unknown.scope().state().now();
        Long due = ended ? null : next.dueInMillis();
        String name =
                switch (next) {
                    case Healing.Next.Ask _ -> "verify";
                    case Healing.Next.Again _ -> "resend";
                    case Healing.Next.Person _ -> "person";
                    case Healing.Next.Fail() -> "fail";
                };
        var verifier = unknown.effect().verify();
        return new NextStep(
                unknown.newest().receipt.id(),
                unknown.path(),
                ended ? "person" : name,
                due == null ? null : now.plusMillis(due),
                ended ? "the run has ended" : next instanceof Healing.Next.Person person ? person.why() : null,
                verifier != null,
                unknown.reads().reads(),
                unknown.reads().negatives(),
                verifier == null ? 0 : verifier.negativeReads(),
                unknown.reads().last(),
                unknown.resends(),
                unknown.keyWindowEnd(),
                now.plusMillis(unknown.quietInMillis()));
    }
}

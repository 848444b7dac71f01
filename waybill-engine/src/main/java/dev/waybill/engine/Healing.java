package dev.waybill.engine;

import dev.waybill.definition.Sequence;
import dev.waybill.definition.Sequence.Effect;
import dev.waybill.definition.Sequence.OnConflict;
import dev.waybill.definition.Sequence.OnUnknown;
import dev.waybill.definition.Sequence.Remedy;
import dev.waybill.definition.Sequence.Resend;
import dev.waybill.definition.Sequence.Step;
import dev.waybill.definition.Sequence.Verifier;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.json.SecretText;
import dev.waybill.model.EffectState;
import dev.waybill.store.BlockRow;
import dev.waybill.store.JournalRow;
import dev.waybill.store.ReceiptRow;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What the engine does next about an effect that is unknown, and when (semantics.md section 5). Pure: durable rows in, one remedy out.
 * The list {@code on_unknown} is followed entry by entry; an entry whose bound is reached gives way to the next one, and behind the last
 * one stands a person. Nothing is remembered but rows, so any node goes on where the last one stopped.
 *
 * <p>All receipts of the effect that are unknown are one chain (a resend is sent under the key of the one before it): what is found out
 * about one is found out about all.
 */
final class Healing {
    /** The verifier's schedule, behind the path of its step: how often it was asked and what it last said. */
    static final String VERIFY = "$verify";
    /** A resend that could not even be prepared. */
    static final String RESEND = "$resend";
    /** A person has been called. */
    static final String ESCALATED = "$escalated";

    /** Reason of an unknown that is a 409 under {@code on_conflict: verify}. */
    static final String CONFLICT = "conflict";

    private static final Duration LARGEST_MARGIN = Duration.ofMinutes(5);

    private Healing() {}

    /** The next remedy. */
    sealed interface Next {
        /** Milliseconds until it is due; null = it has no due time. */
        @Nullable Long dueInMillis();

        /** Ask the verifier. */
        record Ask(Long dueInMillis) implements Next {}

        /**
         * Send the frozen request again.
         *
         * @param copyOf the newest attempt
         */
        record Again(Long dueInMillis, ReceiptRow copyOf) implements Next {}

        /**
         * Wait for a person; with a due time only until then.
         *
         * @param why in words
         */
        record Person(@Nullable Long dueInMillis, String why) implements Next {}

        /** The run fails with EFFECT_BLOCKED. */
        record Fail() implements Next {
            @Override
            public @Nullable Long dueInMillis() {
                return null;
            }
        }
    }

    /**
     * What the verifier has said so far about the newest unknown receipt.
     *
     * @param negatives absences in a row that count
     * @param counted   when the last of them was asked for
     * @param last      the last verdict, or null
     */
    record Reads(int reads, int negatives, @Nullable Instant counted, @Nullable String last) {
        static final Reads NONE = new Reads(0, 0, null, null);
    }

    /** An unknown effect with all that a decision about it needs. */
    record Unknown(Step step, String path, RunScope scope, List<Attempt> members, Reads reads, Next next) {
        Attempt newest() {
            return members.getLast();
        }

        Effect effect() {
            return EffectGuard.effect(step);
        }

        /** Milliseconds until no request of the chain can still arrive. */
        long quietInMillis() {
            return Healing.quietInMillis(members, scope.state());
        }

        /** When the destination may forget the key of the chain, or null without a window. */
        @Nullable Instant keyWindowEnd() {
            return Healing.keyWindowEnd(scope.state().attempts(path));
        }

        int resends() {
            return Healing.resends(scope.state().attempts(path), members);
        }
    }

    /** Whether the effect is unknown: some receipt of it is, and none is under way. */
    static boolean unknown(List<Attempt> attempts) {
        boolean unknown = false;
        for (Attempt attempt : attempts) {
            EffectState state = attempt.state();
            if (state == EffectState.DISPATCHED) {
                return false;
            }
            unknown |= state == EffectState.UNKNOWN;
        }
        return unknown;
    }

    /** The receipts of the effect that are unknown; empty when there is none. */
    static List<Attempt> members(List<Attempt> attempts) {
        return attempts.stream().filter(attempt -> attempt.state() == EffectState.UNKNOWN).toList();
    }

    static Unknown of(Step step, Sequence sequence, String path, RunScope scope, List<Attempt> members) {
        RunState state = scope.state();
        Reads reads = reads(state, path, members.getLast().receipt.id());
        return new Unknown(step, path, scope, members, reads, next(step, sequence, path, state, members, reads));
    }

    private static Reads reads(RunState state, String path, UUID newest) {
        BlockRow row = state.row(path + VERIFY);
        JsonNode body = row == null ? null : state.body(row);
        if (body == null || !body.path("effect_id").asString("").equals(newest.toString())) {
            return Reads.NONE;
        }
        return new Reads(
                body.path("reads").asInt(), body.path("negatives").asInt(),
                body.hasNonNull("counted_at") ? Instant.parse(body.get("counted_at").asString()) : null, body.path("verdict").asString(null));
    }

    private static Next next(Step step, Sequence sequence, String path, RunState state, List<Attempt> members, Reads reads) {
        List<Remedy> list = remedies(step, sequence, members);
        String why = "on_unknown says so";
        for (int i = 0; i < list.size(); i++) {
            Remedy remedy = list.get(i);
            switch (remedy.what()) {
                case VERIFY -> {
                    Verifier verifier = EffectGuard.effect(step).verify();
                    if (verifier != null) {
                        boolean resendFollows = list.subList(i + 1, list.size()).stream().anyMatch(later -> later.what() == OnUnknown.RESEND);
                        Next.Ask ask = ask(verifier, remedy, path, state, members, reads, resendFollows);
                        if (ask != null) {
                            return ask;
                        }
                        why = "the verifier could not tell (" + reads.reads() + " reads)";
                    }
                }
                case RESEND -> {
                    if (EffectGuard.effect(step).key() != null) {
                        Object answer = again(step, remedy, path, state, members);
                        if (answer instanceof Next.Again again) {
                            return again;
                        }
                        why = String.valueOf(answer);
                    }
                }
                case WAIT -> {
                    if (remedy.time() == null) {
                        return new Next.Person(null, why);
                    }
                    long left = state.millisUntil(since(members), remedy.time().toMillis());
                    if (left > 0) {
                        return new Next.Person(left, why);
                    }
                }
                case FAIL -> {
                    return new Next.Fail();
                }
            }
        }
        return new Next.Person(null, why);
    }

    private static List<Remedy> remedies(Step step, Sequence sequence, List<Attempt> members) {
        List<Remedy> list = step.onUnknown() != null ? step.onUnknown() : sequence.onUnknown();
        JournalRow last = members.getLast().last;
        boolean conflict = EffectGuard.effect(step).onConflict() == OnConflict.VERIFY && last != null && CONFLICT.equals(last.reason());
        if (!conflict || list.stream().anyMatch(remedy -> remedy.what() == OnUnknown.VERIFY)) {
            return list;
        }
        List<Remedy> asked = new ArrayList<>(list);
        asked.addFirst(Remedy.of(OnUnknown.VERIFY));
        return asked;
    }

    // --- verify ----------------------------------------------------------------------------------------------------------------

    /** Null when the verifier has had its reads or its time. */
    private static Next.@Nullable Ask ask(
            Verifier verifier, Remedy bounds, String path, RunState state, List<Attempt> members, Reads reads, boolean resendFollows) {
        Integer most = bounds.most() != null ? bounds.most() : verifier.maxReads();
        if (most != null && reads.reads() >= most) {
            return null;
        }
        Duration giveUp = bounds.time() != null ? bounds.time() : verifier.giveUp();
        long left = state.millisUntil(since(members), giveUp.toMillis());
        ReceiptRow first = firstUnderKey(state.attempts(path));
        if (resendFollows && first != null && first.keyWindowMillis() != null) {
            // A key that is forgotten heals nothing: half of the usable window is kept for the resends.
            left = Math.min(left, state.millisUntil(first.at(), usable(first.keyWindowMillis()) / 2));
        }
        if (left <= 0) {
            return null;
        }
        BlockRow row = state.row(path + VERIFY);
        long due = reads.reads() == 0 || row == null ? 0 : state.millisUntil(row.at(), row.dueInMillis() == null ? 0 : row.dueInMillis());
        return new Next.Ask(Math.min(due, left));
    }

    /**
     * What a verdict makes of the schedule.
     *
     * @param askedAt when the question was sent, by the database's clock: an absence counts only if nothing could arrive any more then
     * @param now     when the answer was there
     * @return the reads so far and milliseconds until the next
     */
    static Map.Entry<Reads, Long> after(Verifier verifier, Reads before, Verdict verdict, List<Attempt> members, Instant askedAt, Instant now) {
        int reads = before.reads() + 1;
        long every = verifier.every().toMillis();
        long interval = (long) Math.min(every * Math.pow(2, Math.min(reads - 1, 40)), verifier.maxEvery().toMillis());
        if (!(verdict instanceof Verdict.Absent)) {
            return Map.entry(new Reads(reads, 0, null, verdict.wire()), interval);
        }
        Instant quiet = quietAt(members);
        if (quiet == null || askedAt.isBefore(quiet)) {
            long untilQuiet = quiet == null ? interval : Math.max(0, Duration.between(now, quiet).toMillis() + 1);
            return Map.entry(new Reads(reads, 0, null, verdict.wire()), Math.min(untilQuiet, Math.max(interval, 1)));
        }
        boolean apart = before.counted() == null || !askedAt.isBefore(before.counted().plusMillis(every));
        if (!apart) {
            return Map.entry(
                    new Reads(reads, before.negatives(), before.counted(), verdict.wire()),
                    Math.max(1, Duration.between(now, Objects.requireNonNull(before.counted()).plusMillis(every)).toMillis() + 1));
        }
        return Map.entry(new Reads(reads, before.negatives() + 1, askedAt, verdict.wire()), every);
    }

    // --- resend ----------------------------------------------------------------------------------------------------------------

    /** {@link Next.Again}, or in words why nothing is sent again. */
    private static Object again(Step step, Remedy bounds, String path, RunState state, List<Attempt> members) {
        Resend resend = EffectGuard.effect(step).resend();
        List<Attempt> attempts = state.attempts(path);
        Attempt newest = attempts.getLast();
        ReceiptRow first = firstUnderKey(attempts);
        if (first == null || first.keyWindowMillis() == null) {
            return "the key has no declared window";
        }
        if (secretInBytes(newest.receipt)) {
            return "the body or the address holds a secret: that the bytes are the same cannot be shown";
        }
        int made = resends(attempts, members);
        int most = bounds.most() != null ? bounds.most() : resend.max();
        if (made >= most) {
            return "it was sent again " + made + " times, which is all that is allowed";
        }
        JournalRow last = newest.last;
        if (newest.state() == EffectState.NOT_APPLIED && (last == null || last.retryInMillis() == null)) {
            return "the destination refused the resend";
        }
        if (newest.state() != EffectState.NOT_APPLIED && newest.state() != EffectState.UNKNOWN) {
            return "a later attempt is " + newest.state().wire();
        }
        long due = quietInMillis(members, state);
        if (made > 0 && last != null) {
            long backoff = (long) Math.min(
                    (bounds.time() != null ? bounds.time() : resend.backoff()).toMillis() * Math.pow(2, made - 1), Duration.ofDays(1).toMillis());
            long asked = last.retryInMillis() == null ? 0 : last.retryInMillis();
            due = Math.max(due, state.millisUntil(last.at(), Math.max(backoff, asked)));
        }
        BlockRow stopped = state.row(path + RESEND); // or its destination is held
        if (stopped != null && state.body(stopped).path("after").asInt(-1) == newest.receipt.attempt()) {
            if (stopped.dueInMillis() == null) {
                return "a resend could not be prepared: " + state.body(stopped).path("code").asString("");
            }
            due = Math.max(due, state.millisUntil(stopped.at(), stopped.dueInMillis()));
        }
        // Counted from the first dispatch in database time; a resend that would be due after the window is none (case A08, section 5).
        long left = state.millisUntil(first.at(), usable(first.keyWindowMillis()));
        return due < left ? new Next.Again(due, newest.receipt) : "the window of the key is over, or would be before the resend";
    }

    /** The window less a margin: a tenth, at least five minutes or half of a short one. */
    static long usable(long windowMillis) {
        return windowMillis - Math.max(windowMillis / 10, Math.min(LARGEST_MARGIN.toMillis(), windowMillis / 2));
    }

    /** Headers are resolved anew; of everything else the frozen text must be the whole truth. */
    private static boolean secretInBytes(ReceiptRow receipt) {
        JsonNode frozen = EngineJson.read(receipt.request());
        for (Map.Entry<String, JsonNode> member : frozen.properties()) {
            if (!member.getKey().equals("headers") && SecretText.hasSecrets(member.getValue())) {
                return true;
            }
        }
        return false;
    }

    /** The oldest receipt under the key of the newest: from there the destination counts. */
    static @Nullable ReceiptRow firstUnderKey(List<Attempt> attempts) {
        String key = attempts.getLast().receipt.idempotencyKey();
        if (key == null) {
            return null;
        }
        return attempts.stream().map(attempt -> attempt.receipt).filter(receipt -> key.equals(receipt.idempotencyKey())).findFirst().orElse(null);
    }

    static @Nullable Instant keyWindowEnd(List<Attempt> attempts) {
        ReceiptRow first = firstUnderKey(attempts);
        return first == null || first.at() == null || first.keyWindowMillis() == null ? null : first.at().plusMillis(first.keyWindowMillis());
    }

    private static int resends(List<Attempt> attempts, List<Attempt> members) {
        int from = members.getFirst().receipt.attempt();
        return (int) attempts.stream()
                .filter(attempt -> attempt.receipt.attempt() > from && attempt.receipt.resendOf() != null)
                .count();
    }

    // --- times -----------------------------------------------------------------------------------------------------------------

    private static long quietInMillis(List<Attempt> members, RunState state) {
        long quiet = 0;
        for (Attempt member : members) {
            quiet = Math.max(quiet, state.millisUntil(member.receipt.at(), member.receipt.quietInMillis()));
        }
        return quiet;
    }

    private static @Nullable Instant quietAt(List<Attempt> members) {
        Instant quiet = Instant.MIN;
        for (Attempt member : members) {
            Instant one = member.receipt.at() == null ? null : member.receipt.at().plusMillis(member.receipt.quietInMillis());
            if (one == null) {
                return null;
            }
            quiet = one.isAfter(quiet) ? one : quiet;
        }
        return quiet;
    }

    /** When the effect became unknown. */
    private static @Nullable Instant since(List<Attempt> members) {
        JournalRow first = members.getFirst().last;
        return first == null ? null : first.at();
    }
}

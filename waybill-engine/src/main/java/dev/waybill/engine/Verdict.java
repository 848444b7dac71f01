package dev.waybill.engine;

import dev.waybill.definition.EvaluationException;
import dev.waybill.definition.Expression;
import dev.waybill.definition.Scope;
import dev.waybill.definition.Sequence.Effect;
import dev.waybill.definition.Sequence.Verifier;
import dev.waybill.model.Outcome;
import dev.waybill.transport.HttpOutput;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/** What one answer of the provider says about an effect (semantics.md section 5, verify). */
sealed interface Verdict {
    /** The provider did it. */
    record Landed(JsonNode output, @Nullable String providerReceiptId) implements Verdict {}

    /** It has nothing of it; whether that counts is decided by the time of the question. */
    record Absent() implements Verdict {}

    /** It has something under this name, and it is not this effect: the answer is complete and neither landed nor absent holds. */
    record Other() implements Verdict {}

    /**
     * Nothing can be concluded.
     *
     * @param why in words, without secrets
     */
    record Inconclusive(String why) implements Verdict {}

    /** The name in evidence and metrics. */
    default String wire() {
        return switch (this) {
            case Landed _ -> "landed";
            case Absent() -> "absent";
            case Other() -> "other";
            case Inconclusive _ -> "inconclusive";
        };
    }

    /** Statuses that may say "there is nothing": a refused look-up (401, 403, 429) or a broken one (5xx) says nothing about the effect. */
    List<Integer> NOTHING_THERE = List.of(404, 410);

    /**
     * Judges an answer. Only a complete one can say anything, and only a boolean is a yes: what is not understood is inconclusive, never
     * absent.
     *
     * @param scope the step's roots and key, request, receipt, labels
     */
    static Verdict of(Verifier verifier, Effect effect, Scope scope, Outcome outcome) {
        JsonNode answer;
        boolean positive;
        switch (outcome) {
            case Outcome.Committed committed -> {
                answer = committed.output();
                positive = true;
            }
            case Outcome.NotApplied no when no.reply() != null && NOTHING_THERE.contains(no.reply().status()) && !no.reply().truncated() -> {
                answer = HttpOutput.of(no.reply());
                positive = false;
            }
            case Outcome.NotApplied no -> {
                return new Inconclusive(no.problem().message());
            }
            case Outcome.OutputLost lost -> {
                return new Inconclusive(lost.why());
            }
            case Outcome.OutputUnusable unusable -> {
                return new Inconclusive(unusable.problem().message());
            }
            case Outcome.Unknown unknown -> {
                return new Inconclusive(unknown.message());
            }
        }
        Scope over = Settlement.over(scope, answer);
        try {
            boolean landed = positive && yes(verifier.landed(), over);
            boolean absent = verifier.absent() != null && yes(verifier.absent(), over);
            if (landed && absent) {
                return new Inconclusive("landed and absent both hold for this answer");
            }
            if (landed) {
                JsonNode output = verifier.output() == null ? answer : verifier.output().evaluate(over);
                if (output.isMissingNode()) {
                    return new Inconclusive("landed holds, but output is undefined for this answer");
                }
                return new Landed(output, providerReceiptId(verifier, effect, scope, over, answer, output));
            }
            return absent ? new Absent() : positive ? new Other() : new Inconclusive("neither landed nor absent holds for this answer");
        } catch (EvaluationException e) {
            return new Inconclusive(e.problem().message());
        }
    }

    private static boolean yes(Expression condition, Scope over) throws EvaluationException {
        JsonNode verdict = condition.evaluate(over);
        if (!verdict.isBoolean() && !verdict.isMissingNode()) {
            throw new EvaluationException(dev.waybill.model.Problem.of("EXPRESSION_FAILED", condition.source() + " is not a boolean for this answer"));
        }
        return verdict.isBoolean() && verdict.asBoolean();
    }

    /** Where the verifier says; else where the step says, in the output that takes the place of its own; else the usual members. */
    private static @Nullable String providerReceiptId(
            Verifier verifier, Effect effect, Scope scope, Scope over, JsonNode answer, JsonNode output) {
        String id = scalar(verifier.receiptId(), over);
        if (id == null && effect.receiptId() != null) {
            JsonNode shaped = output.has("body") ? output : JsonNodeFactory.instance.objectNode().set("body", output);
            id = scalar(effect.receiptId(), Settlement.over(scope, shaped));
        }
        for (JsonNode place : List.of(output, output.path("body"), answer.path("body"))) {
            id = id != null ? id : Settlement.usualMembers(place);
        }
        return id;
    }

    private static @Nullable String scalar(@Nullable Expression expression, Scope over) {
        if (expression == null) {
            return null;
        }
        try {
            return Settlement.scalar(expression.evaluate(over));
        } catch (EvaluationException e) {
            return null; // an answer of another shape has no id there
        }
    }

}

package dev.waybill.engine;

import dev.waybill.definition.EvaluationException;
import dev.waybill.definition.Scope;
import dev.waybill.definition.Sequence.Retry;
import dev.waybill.model.Problem;
import java.time.Duration;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Whether and when a step runs again. It sees definite noes and pure failures only; never an unknown (semantics.md section 3). */
final class RetryPolicy {
    private static final long MAX_BACKOFF_MILLIS = Duration.ofDays(1).toMillis();

    private RetryPolicy() {}

    /**
     * @param attemptsUsed attempts that count, this one included
     * @param retryAfter   what the destination asked for, already bounded; never earlier than the policy's initial backoff
     * @return milliseconds until the next attempt, or null when there is none
     */
    static @Nullable Long next(
            Retry retry, int attemptsUsed, Problem problem, @Nullable Duration retryAfter, Scope scope, RandomGenerator random) {
        if (!problem.retryable() || attemptsUsed >= retry.maxAttempts() || listed(retry, problem) || !wanted(retry, problem, scope)) {
            return null;
        }
        if (retryAfter != null) {
            return Math.max(retryAfter.toMillis(), retry.initialBackoff().toMillis());
        }
        return backoff(retry, attemptsUsed - 1, random);
    }

    /** initial x multiplier^k, capped; with jitter j a share of up to j of it is taken off at random. */
    static long backoff(Retry retry, int k, RandomGenerator random) {
        if (retry.initialBackoff().isZero()) {
            // And not 0 x infinity, which is no number.
            return 0;
        }
        double grown = retry.initialBackoff().toMillis() * Math.pow(retry.backoffMultiplier(), Math.max(0, k));
        long cap = retry.maxBackoff().isPositive() ? retry.maxBackoff().toMillis() : MAX_BACKOFF_MILLIS;
        long millis = (long) Math.min(grown, Math.min(cap, MAX_BACKOFF_MILLIS));
        if (retry.jitter() <= 0 || millis == 0) {
            return millis;
        }
        return millis - (long) (millis * Math.min(1, retry.jitter()) * random.nextDouble());
    }

    private static boolean listed(Retry retry, Problem problem) {
        if (retry.nonRetryableCodes().contains(problem.code())) {
            return true;
        }
        JsonNode details = problem.details();
        if (details == null) {
            return false;
        }
        for (String member : new String[] {"error_code", "code", "status"}) {
            JsonNode value = details.get(member);
            if (value != null && value.isValueNode() && retry.nonRetryableCodes().contains(value.asString())) {
                return true;
            }
        }
        return false;
    }

    /** A {@code retry_if} that cannot be evaluated does not retry: the safe side of an author's mistake. */
    private static boolean wanted(Retry retry, Problem problem, Scope scope) {
        if (retry.retryIf() == null) {
            return true;
        }
        ObjectNode error = Problems.json(problem);
        try {
            return Conditions.holds(retry.retryIf().evaluate(name -> name.equals("_error") ? error : scope.root(name)));
        } catch (EvaluationException e) {
            return false;
        }
    }
}

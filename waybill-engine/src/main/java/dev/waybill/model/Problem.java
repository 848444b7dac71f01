package dev.waybill.model;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Why something failed: a stable code (one page each in docs/errors), a sentence for people and optional data.
 *
 * @param code      stable, upper case with underscores
 * @param message   one sentence: the subject and what is wrong with it; never a secret
 * @param retryable whether the retry policy may look at it
 * @param details   machine-readable context, or null
 */
public record Problem(String code, String message, boolean retryable, @Nullable JsonNode details) {
    public static Problem of(String code, String message) {
        return new Problem(code, message, false, null);
    }

    public static Problem retryable(String code, String message) {
        return new Problem(code, message, true, null);
    }
}

package dev.waybill.model;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * An expected refusal of a public operation: a stable code, the subject and the next move. {@code status} is the HTTP status the
 * API answers with (RFC 9110); {@code pointer} is a JSON pointer to the fault in the caller's document, when there is one.
 */
public final class WaybillException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final String code;
    private final int status;
    private final @Nullable String pointer;
    private final @Nullable String next;
    private final transient @Nullable JsonNode details;

    public WaybillException(int status, String code, String message) {
        this(status, code, message, null, null);
    }

    public WaybillException(int status, String code, String message, @Nullable String pointer, @Nullable String next) {
        this(status, code, message, pointer, next, null);
    }

    /**
     * @param details machine-readable context, for example every fault of a refused document; or null
     */
    public WaybillException(
            int status, String code, String message, @Nullable String pointer, @Nullable String next, @Nullable JsonNode details) {
        super(message);
        this.status = status;
        this.code = code;
        this.pointer = pointer;
        this.next = next;
        this.details = details;
    }

    public static WaybillException badRequest(String code, String message, @Nullable String pointer) {
        return new WaybillException(400, code, message, pointer, null);
    }

    public static WaybillException notFound(String code, String message) {
        return new WaybillException(404, code, message);
    }

    public static WaybillException conflict(String code, String message, @Nullable String next) {
        return new WaybillException(409, code, message, null, next);
    }

    public String code() {
        return code;
    }

    public int status() {
        return status;
    }

    public @Nullable String pointer() {
        return pointer;
    }

    /** The next move: a command or a sentence, or null. */
    public @Nullable String next() {
        return next;
    }

    public @Nullable JsonNode details() {
        return details;
    }
}

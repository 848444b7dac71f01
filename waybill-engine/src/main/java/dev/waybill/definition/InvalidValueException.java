package dev.waybill.definition;

/** A template or an expression does not compile; becomes a {@link Fault} of the sequence. */
final class InvalidValueException extends Exception {
    private static final long serialVersionUID = 1L;
    private final String code;
    private final String reason;

    InvalidValueException(String code, String reason) {
        super(reason);
        this.code = code;
        this.reason = reason;
    }

    String reason() {
        return reason;
    }

    String code() {
        return code;
    }
}

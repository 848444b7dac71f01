package dev.waybill.store;

/** The connection died around COMMIT: the transaction may or may not be durable. Absence of its rows proves nothing yet. */
public final class UnclearCommitException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public UnclearCommitException(String message, Throwable cause) {
        super(message, cause);
    }
}

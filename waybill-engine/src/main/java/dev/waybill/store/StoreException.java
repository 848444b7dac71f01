package dev.waybill.store;

/** Infrastructure: the database could not be reached or refused a statement, and nothing of the verb is durable. */
public final class StoreException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public StoreException(String message, Throwable cause) {
        super(message, cause);
    }
}

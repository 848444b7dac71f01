package dev.waybill.trigger;

/** A cron text that says nothing; the message names the field and what is allowed there. */
public final class CronSyntaxException extends Exception {
    private static final long serialVersionUID = 1L;

    CronSyntaxException(String message) {
        super(message);
    }
}

package dev.waybill.server.demo;

import java.util.Locale;

/** Who drives the five orders. */
enum Strategy {
    NO_RETRY("no retry"),
    RETRY("retry"),
    RETRY_KEY("retry + key"),
    WAYBILL("Waybill");

    private final String title;

    Strategy(String title) {
        this.title = title;
    }

    String title() {
        return title;
    }

    String wire() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Sends again what may have happened. */
    boolean retries() {
        return this == RETRY || this == RETRY_KEY;
    }

    /** Of its provider. */
    String ledgerFile() {
        return wire().replace('_', '-') + ".jsonl";
    }
}

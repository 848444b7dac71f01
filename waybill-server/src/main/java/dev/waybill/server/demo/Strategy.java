package dev.waybill.server.demo;

import java.util.Locale;

/** Who drives the five orders. */
enum Strategy {
    NO_RETRY("no retry"),
    RETRY("retry"),
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

    /** Of its provider. */
    String ledgerFile() {
        return wire().replace('_', '-') + ".jsonl";
    }
}

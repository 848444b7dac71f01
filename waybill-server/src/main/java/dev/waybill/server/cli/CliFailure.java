package dev.waybill.server.cli;

import java.util.List;

/** A command that could not do what was asked: an exit code, what and why, and what to type next. */
public final class CliFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final int exit;
    private final transient List<String> next;

    CliFailure(int exit, String message, String... next) {
        super(message);
        this.exit = exit;
        this.next = List.of(next);
    }

    int exit() {
        return exit;
    }

    List<String> next() {
        return next;
    }
}

package dev.waybill.server;

import dev.waybill.server.cli.Cli;
import dev.waybill.server.cli.Terminal;
import java.time.InstantSource;
import java.util.UUID;

/** The process: everything it takes from the machine (environment, streams, clock, random ids) enters here. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        boolean tty = System.console() != null && System.console().isTerminal();
        Terminal terminal = Terminal.of(System.out, System.err, tty, System.getenv());
        System.exit(Cli.run(arguments, System.getenv(), terminal, InstantSource.system(), UUID::randomUUID));
    }
}

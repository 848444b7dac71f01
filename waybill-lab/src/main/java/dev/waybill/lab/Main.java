package dev.waybill.lab;

import dev.waybill.lab.bench.BenchCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The lab's commands; {@code ./waybill bench} comes here. */
@Command(name = "waybill-lab", mixinStandardHelpOptions = true, subcommands = BenchCommand.class)
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        System.exit(new CommandLine(new Main()).execute(arguments));
    }
}

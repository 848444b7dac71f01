package dev.waybill.lab;

import dev.waybill.lab.bench.BenchCommand;
import dev.waybill.lab.bench.QueueBenchCommand;
import dev.waybill.lab.mutants.MutantsCommand;
import dev.waybill.lab.points.PointsCommand;
import dev.waybill.lab.program.ProgramsCommand;
import dev.waybill.lab.recorder.RecorderCommand;
import dev.waybill.lab.sim.SimCommand;
import dev.waybill.lab.torture.TortureCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The lab's commands; {@code ./waybill bench} and {@code ./waybill lab} come here. */
@Command(
        name = "waybill-lab",
        mixinStandardHelpOptions = true,
        subcommands = {
            BenchCommand.class,
            MutantsCommand.class,
            PointsCommand.class,
            ProgramsCommand.class,
            QueueBenchCommand.class,
            RecorderCommand.class,
            SimCommand.class,
            TortureCommand.class
        })
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        System.exit(new CommandLine(new Main()).setCaseInsensitiveEnumValuesAllowed(true).execute(arguments));
    }
}

package dev.waybill.server.cli;

import dev.waybill.server.ServerConfig;
import java.io.PrintWriter;
import java.time.InstantSource;
import java.util.Map;
import java.util.UUID;
import java.util.function.Supplier;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The command line. */
public final class Cli {
    private Cli() {}

    /** What commands take from the world. */
    record World(Map<String, String> environment, Terminal terminal, InstantSource clock, Supplier<UUID> ids) {}

    /** @return the exit code, see {@link Exit} */
    public static int run(
            String[] arguments, Map<String, String> environment, Terminal terminal, InstantSource clock, Supplier<UUID> ids) {
        return commandLine(new World(environment, terminal, clock, ids)).execute(arguments);
    }

    private static CommandLine commandLine(World world) {
        CommandLine line = new CommandLine(new Root());
        line.addSubcommand(new ServeCommand(world));
        line.addSubcommand(new SequenceCommand(world));
        line.addSubcommand(new RunCommand(world));
        line.addSubcommand(new CommandLine(new EffectsCommand(world)).addSubcommand(new EffectsCommand.Resolve(world))
                .addSubcommand(new ImportStatementCommand(world))
                .addSubcommand(new ExportCommands.Export(world))
                .addSubcommand(new ExportCommands.Verify(world))
                .addSubcommand(new EvidenceCommands.Attach(world))
                .addSubcommand(new EvidenceCommands.Content(world))
                .addSubcommand(new EvidenceCommands.Approve(world))
                .addSubcommand(new EvidenceCommands.Reject(world))
                .addSubcommand(new EvidenceCommands.Proposals(world)));
        line.addSubcommand(new DestinationsCommand(world));
        line.addSubcommand(new WebhooksCommand(world));
        line.addSubcommand(new StoreCommand(world));
        line.addSubcommand(new HealthCommand(world));
        line.addSubcommand(new DemoCommand(world));
        line.setOut(new PrintWriter(world.terminal().out(), true));
        line.setErr(new PrintWriter(world.terminal().err(), true));
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setExecutionExceptionHandler((exception, _, _) -> switch (exception) {
            case CliFailure failure -> {
                world.terminal().failure(failure);
                yield failure.exit();
            }
            case ServerConfig.Invalid invalid -> {
                world.terminal().failure(new CliFailure(Exit.USAGE, String.valueOf(invalid.getMessage()), "waybill serve --help"));
                yield Exit.USAGE;
            }
            default -> throw exception;
        });
        return line;
    }

    /** A command that only groups others: called alone, it says what there is. */
    abstract static class Group implements Runnable {
        @Spec
        @SuppressWarnings("NullAway.Init")
        CommandSpec spec;

        @Override
        public void run() {
            throw new CommandLine.ParameterException(spec.commandLine(), "a command is missing");
        }
    }

    @Command(
            name = "waybill",
            mixinStandardHelpOptions = true,
            versionProvider = Version.class,
            description = "A durable workflow engine that is honest about side effects.",
            footer = {
                "",
                "  waybill demo                   the whole point in half a minute",
                "  waybill bench                  how fast, beside the seed's protocol",
                "",
                "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 conflict, 5 unresolved effect, 7 server unreachable."
            })
    static final class Root extends Group {}

    /** The version in the jar's manifest. */
    static final class Version implements CommandLine.IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = Cli.class.getPackage().getImplementationVersion();
            return new String[] {"waybill " + (version == null ? "dev" : version)};
        }
    }
}

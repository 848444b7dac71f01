package dev.waybill.server.cli;

import dev.waybill.server.demo.Demo;
import dev.waybill.server.demo.KillAt;
import dev.waybill.server.demo.Stage;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import tools.jackson.databind.JsonNode;

/** {@code waybill demo} */
@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        description = "Five orders, one kill -9, and what three ways of calling a payment provider make of it. Real processes, real HTTP on "
                + "this machine only, counted from the provider's own ledger. Exit 0 only when every ledger is as expected.")
final class DemoCommand implements Callable<Integer> {
    private final Cli.World world;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "42", description = "Decides the amounts and which order comes first (42).")
    long seed;

    @Option(
            names = "--kill-at",
            paramLabel = "POINT",
            defaultValue = "booked",
            description = "Where the engine is killed: prepared (before the intent's commit), dispatched (after it, before the first byte), "
                    + "booked (in the provider), committed (before the settle's commit), output (after it). Default booked.")
    KillAt killAt = KillAt.BOOKED;

    @Option(names = "--dir", paramLabel = "DIR", description = "Work there and keep everything; must be empty or not exist.")
    @Nullable Path directory;

    @Option(names = "--no-input", description = "Plain text; nothing is ever asked.")
    boolean noInput;

    @Option(names = {"-o", "--output-format"}, paramLabel = "table|json", defaultValue = "table", description = "json: one document.")
    Connection.Output output = Connection.Output.table;

    DemoCommand(Cli.World world) {
        this.world = world;
    }

    @Override
    public Integer call() {
        boolean json = output == Connection.Output.json;
        Demo.Result result;
        try {
            String version = new Cli.Version().getVersion()[0].substring("waybill ".length());
            result = Demo.run(new Demo.Options(seed, killAt, directory, version), new OnTerminal(world.terminal(), json, json || noInput));
        } catch (IllegalArgumentException e) {
            throw new CliFailure(Exit.USAGE, String.valueOf(e.getMessage()), "waybill demo --dir NEW_DIRECTORY");
        }
        if (json) {
            world.terminal().json(result.document());
        }
        return result.ok() ? Exit.OK : Exit.FAILED;
    }

    /** The story on the terminal; nowhere when a document was asked for. */
    private record OnTerminal(Terminal terminal, boolean silent, boolean plain) implements Stage {
        @Override
        public void line(String text) {
            if (!silent) {
                terminal.line(text);
            }
        }

        @Override
        public void warn(String text) {
            terminal.err().println(text);
        }

        @Override
        public String paint(String text, Tone tone) {
            return plain ? text : terminal.paint(text, switch (tone) {
                case DIM -> Terminal.Colour.DIM;
                case GOOD -> Terminal.Colour.GREEN;
                case WARN -> Terminal.Colour.YELLOW;
                case BAD -> Terminal.Colour.RED;
            });
        }

        @Override
        public Api api(String server) {
            Connection connection = new Connection();
            connection.server = server;
            return new Client(new ApiClient(connection));
        }
    }

    private record Client(ApiClient client) implements Stage.Api {
        @Override
        public JsonNode get(String path) {
            return client.get(path);
        }

        @Override
        public JsonNode post(String path, JsonNode body) {
            return client.post(path, body);
        }

        @Override
        public JsonNode postWithKey(String path, JsonNode body, String key) {
            return client.postWithKey(path, body, key);
        }
    }
}

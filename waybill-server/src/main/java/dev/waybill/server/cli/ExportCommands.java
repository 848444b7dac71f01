package dev.waybill.server.cli;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.server.CaseSeal;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;

/** {@code waybill effects export|verify-export}. */
final class ExportCommands {
    private ExportCommands() {}

    @Command(name = "export", mixinStandardHelpOptions = true, description = "The whole case as one signed file.")
    static final class Export implements Callable<Integer> {
        private final Terminal terminal;

        @Mixin
        Connection connection = new Connection();

        @Parameters(paramLabel = "ID", description = "Id, or at least 4 leading digits of an open one")
        String id = "";

        @Option(names = "--save", paramLabel = "FILE", description = "Where it goes; default: printed.")
        @Nullable String save;

        Export(Cli.World world) {
            terminal = world.terminal();
        }

        @Override
        public Integer call() {
            byte[] bytes = new ApiClient(connection).bytes("/api/v1/effects/" + ApiClient.encode(id) + "/export");
            if (save == null) {
                terminal.out().println(new String(bytes, StandardCharsets.UTF_8));
                return Exit.OK;
            }
            try {
                Files.write(Path.of(save), bytes);
            } catch (IOException e) {
                throw new CliFailure(Exit.FAILED, "cannot write " + save + ": " + e.getMessage());
            }
            terminal.line(bytes.length + " bytes in " + save);
            return Exit.OK;
        }
    }

    @Command(
            name = "verify-export",
            mixinStandardHelpOptions = true,
            description = "Checks an exported case without a server: exit 0 when nothing was changed and the key fits, 1 otherwise.")
    static final class Verify implements Callable<Integer> {
        private final Terminal terminal;

        @Parameters(paramLabel = "FILE")
        String file = "";

        @Option(
                names = "--public-key",
                paramLabel = "FILE|BASE64",
                description = "Whose signature it must be: public_key of /api/v1/signing-key, or a file with it.")
        @Nullable String publicKey;

        Verify(Cli.World world) {
            terminal = world.terminal();
        }

        @Override
        public Integer call() {
            JsonNode document;
            try {
                document = Json.parse(Input.file(file));
            } catch (WaybillException e) {
                throw new CliFailure(Exit.FAILED, file + " is no exported case: " + e.getMessage());
            }
            String trusted = publicKey == null || !Files.isRegularFile(Path.of(publicKey))
                    ? publicKey
                    : new String(Input.file(publicKey), StandardCharsets.UTF_8);
            String fault = CaseSeal.fault(document, trusted).orElse(null);
            if (fault != null) {
                throw new CliFailure(Exit.FAILED, file + " cannot be trusted: " + fault);
            }
            terminal.line("effect " + Terminal.text(document, "effect_id") + "   " + document.path("entries").size() + " entries, unchanged, signed by "
                    + Terminal.text(document.path("signature"), "key_id"));
            if (trusted == null) {
                terminal.line("whose key that is was not checked: --public-key");
            }
            return Exit.OK;
        }
    }
}

package dev.waybill.server.cli;

import static dev.waybill.server.cli.Terminal.text;

import dev.waybill.json.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code waybill effects attach|evidence|approve|reject|proposals}: what a case is proven with, and decisions that need two people. */
final class EvidenceCommands {
    private static final String BASE = "/api/v1/effects/";

    private EvidenceCommands() {}

    /** A file as the API takes it. */
    static ObjectNode file(String name) {
        String type = name.endsWith(".pdf") ? "application/pdf"
                : name.endsWith(".png") ? "image/png"
                : name.endsWith(".csv") ? "text/csv"
                : name.endsWith(".json") ? "application/json"
                : name.endsWith(".txt") ? "text/plain"
                : "application/octet-stream";
        Path leaf = Path.of(name).getFileName();
        return Json.NODES
                .objectNode()
                .put("name", leaf == null ? name : leaf.toString())
                .put("media_type", type)
                .put("content_base64", Base64.getEncoder().encodeToString(Input.file(name)));
    }

    /** One effect, named by its id or the beginning of it. */
    private abstract static class OnEffect implements Callable<Integer> {
        final Terminal terminal;

        @Mixin
        Connection connection = new Connection();

        @Parameters(paramLabel = "ID", description = "Id, or at least 4 leading digits of an open one")
        String id = "";

        OnEffect(Cli.World world) {
            terminal = world.terminal();
        }

        String path(String rest) {
            return BASE + ApiClient.encode(id) + rest;
        }

        int shown(JsonNode effect) {
            EffectsCommand.done(terminal, connection, effect);
            return Exit.OK;
        }
    }

    @Command(name = "attach", mixinStandardHelpOptions = true, description = "Adds a note, a link or a file (at most 512 KiB) to a case, for good.")
    static final class Attach extends OnEffect {
        @Option(names = "--note", description = "A sentence.")
        @Nullable String note;

        @Option(names = "--link", description = "Where it can be seen.")
        @Nullable String link;

        @Option(names = "--file", paramLabel = "FILE", description = "Kept whole, with its SHA-256.")
        @Nullable String file;

        Attach(Cli.World world) {
            super(world);
        }

        @Override
        public Integer call() {
            ObjectNode body = Json.NODES.objectNode().put("note", note).put("link", link);
            if (file != null) {
                body.set("file", file(file));
            }
            return shown(new ApiClient(connection).post(path("/evidence"), body));
        }
    }

    @Command(name = "evidence", mixinStandardHelpOptions = true, description = "Lists the evidence of a case, or saves the content of one item.")
    static final class Content extends OnEffect {
        @Option(names = "--get", paramLabel = "N", description = "The item with this number.")
        @Nullable Integer n;

        @Option(names = "--save", paramLabel = "FILE", description = "Where its content goes; needed with --get.")
        @Nullable String save;

        Content(Cli.World world) {
            super(world);
        }

        @Override
        public Integer call() {
            ApiClient client = new ApiClient(connection);
            if (n == null) {
                JsonNode list = client.get(path("/evidence"));
                if (connection.json()) {
                    terminal.json(list);
                    return Exit.OK;
                }
                List<List<String>> rows = new ArrayList<>();
                list.path("items").forEach(item -> rows.add(List.of(
                        text(item, "n"), text(item, "at"), text(item, "kind"), text(item, "actor"), text(item.path("body"), "sha256"),
                        text(item.path("body"), "note"))));
                terminal.table(List.of("N", "AT", "KIND", "BY", "SHA256", "NOTE"), rows);
                return Exit.OK;
            }
            if (save == null) {
                throw new CliFailure(Exit.USAGE, "--get needs --save FILE: content is never written to a terminal");
            }
            byte[] bytes = client.bytes(path("/evidence/" + n + "/content"));
            try {
                Files.write(Path.of(save), bytes);
            } catch (IOException e) {
                throw new CliFailure(Exit.FAILED, "cannot write " + save + ": " + e.getMessage());
            }
            terminal.line(bytes.length + " bytes in " + save);
            return Exit.OK;
        }
    }

    /** What is approved is what was read: the proposal is named, or it is the one that waits now. */
    private abstract static class OnProposal extends OnEffect {
        @Option(names = "--proposal", paramLabel = "ID", description = "The proposal; default: the one that waits.")
        @Nullable String proposal;

        OnProposal(Cli.World world) {
            super(world);
        }

        int end(String how, @Nullable String note) {
            ApiClient client = new ApiClient(connection);
            String wanted = proposal;
            if (wanted == null) {
                for (JsonNode one : client.get(path("")).path("proposals")) {
                    wanted = text(one, "status").equals("pending") ? text(one, "proposal_id") : wanted;
                }
            }
            if (wanted == null) {
                throw new CliFailure(Exit.NOT_FOUND, "no proposal waits for effect " + id, "waybill effects proposals");
            }
            return shown(client.post(path(how), Json.NODES.objectNode().put("proposal_id", wanted).put("note", note)));
        }
    }

    @Command(name = "approve", mixinStandardHelpOptions = true, description = "Carries out what another principal proposed.")
    static final class Approve extends OnProposal {
        @Option(names = "--note", description = "What was checked.")
        @Nullable String note;

        Approve(Cli.World world) {
            super(world);
        }

        @Override
        public Integer call() {
            return end("/approve", note);
        }
    }

    @Command(name = "reject", mixinStandardHelpOptions = true, description = "Ends a proposal without carrying it out.")
    static final class Reject extends OnProposal {
        @Option(names = "--note", required = true, description = "Why.")
        String note = "";

        Reject(Cli.World world) {
            super(world);
        }

        @Override
        public Integer call() {
            return end("/reject", note);
        }
    }

    @Command(name = "proposals", mixinStandardHelpOptions = true, description = "Decisions that wait for another principal.")
    static final class Proposals implements Callable<Integer> {
        private final Terminal terminal;

        @Mixin
        Connection connection = new Connection();

        Proposals(Cli.World world) {
            terminal = world.terminal();
        }

        @Override
        public Integer call() {
            JsonNode list = new ApiClient(connection).get("/api/v1/proposals");
            if (connection.json()) {
                terminal.json(list);
                return Exit.OK;
            }
            List<List<String>> rows = new ArrayList<>();
            list.path("items").forEach(item -> rows.add(List.of(
                    text(item, "effect_id"), text(item, "state"), text(item, "proposed_by"), text(item, "expires_at"), text(item, "rule"),
                    text(item, "note"))));
            terminal.table(List.of("EFFECT", "TO", "BY", "UNTIL", "RULE", "NOTE"), rows);
            return Exit.OK;
        }
    }
}

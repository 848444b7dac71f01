package dev.waybill.server.cli;

import static dev.waybill.server.cli.Terminal.text;
import static java.util.Map.entry;

import dev.waybill.json.Json;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code waybill effects ..} */
@Command(name = "effects", mixinStandardHelpOptions = true, description = "The effects nobody knows the outcome of, and the road back.")
final class EffectsCommand extends Cli.Group {
    private static final String BASE = "/api/v1/effects";
    private static final int SHORT_ID = 8;
    private static final int LARGEST_PAGE = 500;
    private static final int MOST_SORTED = 20_000;
    private static final Pattern AGE = Pattern.compile("(\\d{1,6})([smhd])");

    /** In which order a list is printed, where it is not the newest first. */
    enum Sort {
        age,
        risk
    }

    private final Terminal terminal;
    private final InstantSource clock;

    EffectsCommand(Cli.World world) {
        terminal = world.terminal();
        clock = world.clock();
    }

    @Command(name = "list", mixinStandardHelpOptions = true, description = "Receipts, newest first.")
    int list(
            @Mixin Connection connection,
            @Option(names = "--state", paramLabel = "STATE[,..]", description = "Only these; open = what waits for somebody.") @Nullable String state,
            @Option(names = "-q", paramLabel = "WORD", description = "Exact: id, key, provider id, hash, block or a label's value.") @Nullable String word,
            @Option(names = "--run", paramLabel = "ID", description = "Only of this run.") @Nullable String run,
            @Option(names = "--older-than", paramLabel = "DURATION", description = "Only what was dispatched before, for example 1h.")
                    @Nullable String olderThan,
            @Option(names = "--label", paramLabel = "NAME=VALUE", description = "Only with this label.") @Nullable String label,
            @Option(names = "--sort", paramLabel = "age|risk", description = "Oldest first, or the largest amount label first (looks at "
                    + MOST_SORTED + " at most).") @Nullable Sort sort,
            @Option(names = "--limit", defaultValue = "50", description = "At most this many (50).") int limit) {
        boolean whole = sort != null || label != null;
        StringBuilder path = new StringBuilder(BASE + "?limit=" + (whole ? LARGEST_PAGE : limit));
        if (olderThan != null) {
            path.append("&to=").append(ApiClient.encode(clock.instant().minus(duration(olderThan)).toString()));
        }
        if (label != null) {
            if (label.indexOf('=') < 1 || label.endsWith("=")) {
                throw new CliFailure(Exit.USAGE, "--label " + label + " is not NAME=VALUE", "--label order=o-1");
            }
            path.append("&label=").append(ApiClient.encode(label.substring(label.indexOf('=') + 1)));
        }
        if (state != null) {
            path.append("&state=").append(ApiClient.encode(state));
        }
        if (word != null) {
            path.append("&q=").append(ApiClient.encode(word));
        }
        if (run != null) {
            path.append("&instance_id=").append(ApiClient.encode(run));
        }
        JsonNode page = whole ? whole(connection, path.toString(), label, sort, limit) : new ApiClient(connection).get(path.toString());
        if (connection.json()) {
            terminal.json(page);
            return Exit.OK;
        }
        List<List<String>> rows = new ArrayList<>();
        for (JsonNode effect : page.path("items")) {
            rows.add(List.of(
                    id(effect), text(effect, "state"), String.join(" ", labels(effect)), text(effect, "block_id"), text(effect, "destination"),
                    Terminal.age(effect.path("age_seconds").asLong(0)), (text(effect, "reason") + " " + text(effect, "message")).strip()));
        }
        terminal.table(List.of("ID", "STATE", "LABELS", "BLOCK", "DESTINATION", "AGE", "WHY"), rows);
        if (page.path("has_more").asBoolean(false)) {
            terminal.line("there are more: --limit");
        }
        return Exit.OK;
    }

    private static JsonNode whole(Connection connection, String path, @Nullable String label, @Nullable Sort sort, int limit) {
        ApiClient api = new ApiClient(connection);
        List<JsonNode> found = new ArrayList<>();
        String cursor = "";
        boolean more = true;
        for (int seen = 0; more && seen < MOST_SORTED; seen += LARGEST_PAGE) {
            JsonNode page = api.get(path + cursor);
            page.path("items").forEach(effect -> {
                if (label == null || labels(effect).contains(label)) {
                    found.add(effect);
                }
            });
            more = page.path("has_more").asBoolean(false);
            cursor = "&cursor=" + ApiClient.encode(text(page, "next_cursor"));
        }
        if (sort != null) {
            found.sort(switch (sort) {
                case age -> Comparator.comparingLong((JsonNode effect) -> effect.path("age_seconds").asLong(0)).reversed();
                case risk -> Comparator.comparing(EffectsCommand::amount).reversed();
            });
        }
        ObjectNode answer = Json.NODES.objectNode();
        found.stream().limit(limit).forEach(answer.putArray("items")::add);
        return answer.put("has_more", more || found.size() > limit);
    }

    private static BigDecimal amount(JsonNode effect) {
        String amount = text(effect.path("labels"), "amount");
        return amount.matches("-?\\d{1,30}(\\.\\d{1,30})?") ? new BigDecimal(amount) : BigDecimal.ZERO;
    }

    private static Duration duration(String text) {
        Matcher matcher = AGE.matcher(text);
        if (!matcher.matches()) {
            throw new CliFailure(Exit.USAGE, "--older-than " + text + " is not a duration", "--older-than 1h");
        }
        long amount = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
            case "s" -> Duration.ofSeconds(amount);
            case "m" -> Duration.ofMinutes(amount);
            case "h" -> Duration.ofHours(amount);
            default -> Duration.ofDays(amount);
        };
    }

    /** Open receipts are found by a prefix; the others need their whole id. */
    private static String id(JsonNode effect) {
        String id = text(effect, "effect_id");
        boolean open = List.of("unknown", "prepared").contains(text(effect, "state")) || text(effect, "output_state").equals("lost");
        return open ? id.substring(0, Math.min(SHORT_ID, id.length())) : id;
    }

    private static List<String> labels(JsonNode effect) {
        List<String> labels = new ArrayList<>();
        effect.path("labels").properties().forEach(label -> labels.add(label.getKey() + "=" + text(effect.path("labels"), label.getKey())));
        return labels;
    }

    @Command(name = "show", mixinStandardHelpOptions = true, description = "The case file of one effect.")
    int show(@Mixin Connection connection, @Parameters(paramLabel = "ID", description = "Id, or at least 4 leading digits of an open one") String id) {
        JsonNode effect = new ApiClient(connection).get(BASE + "/" + ApiClient.encode(id));
        if (connection.json()) {
            terminal.json(effect);
            return Exit.OK;
        }
        terminal.line("effect " + text(effect, "effect_id") + "   " + terminal.state(text(effect, "state")) + " for "
                + Terminal.age(effect.path("age_seconds").asLong(0)));
        terminal.fields(List.of(
                entry("block", text(effect, "path") + ", attempt " + text(effect, "attempt")),
                entry("run", text(effect, "instance_id") + " " + text(effect.path("run"), "state")),
                entry("labels", String.join(" ", labels(effect))),
                entry("destination", text(effect, "destination")),
                entry("profile", text(effect, "destination_profile")),
                entry("promise", effect.path("guarantee").isNull() ? "" : text(effect, "guarantee") + ": " + text(effect, "guarantee_means")),
                entry("look it up", text(effect, "search_url")),
                entry("key", text(effect, "idempotency_key")),
                entry("provider id", text(effect, "provider_receipt_id")),
                entry("request", text(effect, "request")),
                entry("request hash", text(effect, "request_sha256")),
                entry("fingerprint", text(effect, "destination_fingerprint")),
                entry("epoch", text(effect, "epoch")),
                entry("dispatched", text(effect, "dispatched_at")),
                entry("quiet at", text(effect, "quiet_at") + (effect.path("quiet").asBoolean(false) ? " (quiet now)" : "")),
                entry("why", (text(effect, "reason") + " " + text(effect, "message")).strip()),
                entry("proof", text(effect, "proof")),
                entry("by itself", healing(effect.path("healing")))));
        section("journal", effect.path("journal"), move -> text(move, "at") + "  " + text(move, "from") + " -> " + text(move, "to") + "  by "
                + text(move, "actor") + "  " + text(move, "reason"));
        section("proposals", effect.path("proposals"), item -> text(item, "status") + "  " + text(item, "state") + " by " + text(item, "proposed_by")
                + ", until " + text(item, "expires_at") + "  " + text(item, "note") + "  (" + text(item, "proposal_id") + ")");
        section("evidence", effect.path("evidence"), item -> text(item, "n") + "  " + text(item, "at") + "  " + text(item, "kind") + "  by " + text(item, "actor") + "  "
                + text(item, "body"));
        if (effect.path("attempts").size() > 1) {
            section("attempts", effect.path("attempts"), item -> text(item, "attempt") + "  " + text(item, "state") + "  " + text(item, "effect_id"));
        }
        effect.path("next").forEach(next -> terminal.line("next:  " + Terminal.clean(next.asString())));
        return Exit.OK;
    }

    private void section(String title, JsonNode items, Function<JsonNode, String> line) {
        if (!items.isEmpty()) {
            terminal.line("  " + terminal.paint(title, Terminal.Colour.DIM));
            items.forEach(item -> terminal.line("    " + Terminal.clean(line.apply(item)).stripTrailing()));
        }
    }

    /** What happens without anybody's doing, and when. */
    private static String healing(JsonNode healing) {
        if (!healing.isObject()) {
            return "";
        }
        StringBuilder line = new StringBuilder(switch (text(healing, "next")) {
            case "verify" -> "the provider is asked";
            case "resend" -> "the request is sent again under its key";
            case "fail" -> "the run fails";
            default -> "nothing: " + text(healing, "why");
        });
        if (!text(healing, "at").isEmpty()) {
            line.append(" at ").append(text(healing, "at"));
        }
        if (healing.path("reads").asInt(0) > 0) {
            line.append("; asked ").append(text(healing, "reads")).append(" times, last said ").append(text(healing, "last_verdict"));
            if (healing.path("negative_reads").asInt(0) > 0) {
                line.append(" (").append(text(healing, "negative_reads")).append(" of ").append(text(healing, "negative_reads_needed")).append(')');
            }
        }
        if (healing.path("resends").asInt(0) > 0) {
            line.append("; sent again ").append(text(healing, "resends")).append(" times");
        }
        if (!text(healing, "key_window_end").isEmpty()) {
            line.append("; the key is good until ").append(text(healing, "key_window_end"));
        }
        return line.toString();
    }

    @Command(name = "verify", mixinStandardHelpOptions = true, description = "Asks the provider now, by the step's verifier, and records what it says.")
    int verify(@Mixin Connection connection, @Parameters(paramLabel = "ID", description = "Id, or at least 4 leading digits") String id) {
        JsonNode effect = new ApiClient(connection).post(BASE + "/" + ApiClient.encode(id) + "/verify", Json.NODES.objectNode());
        if (!connection.json()) {
            JsonNode said = Json.NODES.objectNode();
            for (JsonNode item : effect.path("evidence")) {
                said = text(item, "kind").equals("verifier_read") ? item.path("body") : said;
            }
            terminal.line("the provider says: " + text(said, "verdict") + (text(said, "why").isEmpty() ? "" : " (" + Terminal.clean(text(said, "why")) + ")"));
        }
        done(terminal, connection, effect);
        return Exit.OK;
    }

    @Command(name = "output", mixinStandardHelpOptions = true, description = "Ends an output_lost wait with the output that was found, once.")
    int output(
            @Mixin Connection connection,
            @Parameters(paramLabel = "ID") String id,
            @Option(names = "--output", required = true, paramLabel = "JSON|@FILE", description = "The block's output.") String output,
            @Option(names = "--note", required = true, description = "Where it was found.") String note,
            @Option(names = "--link", description = "Where it can be seen.") @Nullable String link) {
        ObjectNode body = Json.NODES.objectNode();
        body.set("output", Input.json(output, "the output"));
        body.putObject("evidence").put("note", note).put("link", link);
        JsonNode effect = new ApiClient(connection).post(BASE + "/" + ApiClient.encode(id) + "/output", body);
        done(terminal, connection, effect);
        return Exit.OK;
    }

    static void done(Terminal terminal, Connection connection, JsonNode effect) {
        if (connection.json()) {
            terminal.json(effect);
        } else {
            terminal.line("effect " + text(effect, "effect_id") + "   " + terminal.state(text(effect, "state")) + "   run "
                    + text(effect, "instance_id") + " " + terminal.state(text(effect.path("run"), "state")));
        }
    }

    /** {@code waybill effects resolve ID ..} */
    @Command(
            name = "resolve",
            mixinStandardHelpOptions = true,
            description = "Decides an unknown effect, with the proof. The run goes on with --committed and --verified; with --abandoned it "
                    + "waits, unless --resend or --fail says otherwise.")
    static final class Resolve implements Callable<Integer> {
        private final Terminal terminal;

        Resolve(Cli.World world) {
            terminal = world.terminal();
        }

        @Mixin
        Connection connection = new Connection();

        @Parameters(paramLabel = "ID", description = "Id, or at least 4 leading digits")
        String id = "";

        @ArgGroup(multiplicity = "1")
        State state = new State();

        static final class State {
            @Option(names = "--committed", description = "The provider did it.")
            boolean committed;

            @Option(names = "--verified", description = "The provider did it; its record was checked.")
            boolean verified;

            @Option(names = "--abandoned", description = "It is written off.")
            boolean abandoned;

            @Option(names = "--compensated", description = "It was undone.")
            boolean compensated;

            String wire() {
                return committed ? "committed" : verified ? "verified" : abandoned ? "abandoned" : "compensated";
            }
        }

        @ArgGroup
        @Nullable Then then;

        static final class Then {
            @Option(names = "--continue", description = "The run goes on with the output.")
            boolean goOn;

            @Option(names = "--resend", description = "One new attempt is authorised, once the effect is quiet.")
            boolean resend;

            @Option(names = "--fail", description = "The step fails.")
            boolean fail;

            @Option(names = "--none", description = "Only the ledger moves.")
            boolean none;

            String wire() {
                return goOn ? "continue" : resend ? "resend" : fail ? "fail" : "none";
            }
        }

        @Option(names = "--provider-id", paramLabel = "X", description = "The provider's own name for it; needed with --committed.")
        @Nullable String providerId;

        @Option(names = "--note", required = true, description = "What was looked at.")
        String note = "";

        @Option(names = "--link", description = "Where it can be seen.")
        @Nullable String link;

        @Option(names = "--evidence-file", paramLabel = "FILE", description = "The provider's record; with it --committed needs no --provider-id.")
        @Nullable String evidenceFile;

        @Option(names = "--output", paramLabel = "JSON|@FILE", description = "Becomes the block's output.")
        @Nullable String output;

        @Override
        public Integer call() {
            ObjectNode body = Json.NODES.objectNode().put("state", state.wire());
            ObjectNode evidence = body.putObject("evidence").put("note", note).put("link", link);
            if (evidenceFile != null) {
                evidence.set("file", EvidenceCommands.file(evidenceFile));
            }
            if (providerId != null) {
                body.put("provider_receipt_id", providerId);
            }
            if (output != null) {
                body.set("output", Input.json(output, "the output"));
            }
            if (then != null) {
                body.put("then", then.wire());
            }
            done(terminal, connection, new ApiClient(connection).post(BASE + "/" + ApiClient.encode(id) + "/resolve", body));
            return Exit.OK;
        }
    }
}

package dev.waybill.lab.points;

import dev.waybill.check.Main;
import dev.waybill.json.Json;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;

/** Has everybody's books held against the promise by {@code waybill-check}, which knows no engine class. */
final class Books {
    private Books() {}

    /**
     * @param ledgers the provider's
     * @return what the checker found, or nothing
     */
    static Optional<String> check(Ground ground, List<Path> ledgers, List<JsonNode> client, List<JsonNode> faults) {
        try {
            List<String> arguments = new ArrayList<>(List.of("--store", ground.url()));
            ledgers.forEach(ledger -> arguments.addAll(List.of("--ledger", ledger.toString())));
            arguments.addAll(List.of("--client", lines(ground.directory().resolve("client.jsonl"), client).toString()));
            arguments.addAll(List.of("--faults", lines(ground.directory().resolve("faults.jsonl"), faults).toString()));
            var said = new ByteArrayOutputStream();
            var out = new PrintStream(said, true, StandardCharsets.UTF_8);
            boolean holds = Main.run(arguments.toArray(String[]::new), out, out) == 0;
            return holds ? Optional.empty() : Optional.of("waybill-check:\n" + story(said.toString(StandardCharsets.UTF_8)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Without the properties that hold. */
    private static String story(String said) {
        return said.lines().filter(line -> !line.contains(" holds  ") && !line.contains(" looked at nothing ")).collect(Collectors.joining("\n"));
    }

    /** The lines of a ledger from this position on, in a file of their own. */
    static Path part(Ground ground, Path ledger, long from) {
        try (var lines = Files.lines(ledger)) {
            return Files.write(ground.directory().resolve("ledger-of-trial.jsonl"), lines.skip(from - 1).toList());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path lines(Path file, List<JsonNode> lines) throws IOException {
        return Files.write(file, lines.stream().map(Json::write).toList());
    }
}

package dev.waybill.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.server.api.ServerLab;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who is woken at night types what the runbook says: every command of it works. */
class RunbookTest {
    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|(\\S+)");

    @TempDir
    Path directory;

    @Test
    void everyCommandOfTheRunbookWorks() throws Exception {
        List<String> commands = Files.readString(Path.of("..", "docs", "runbook.md")).lines()
                .filter(line -> line.startsWith("$ ./waybill "))
                .map(line -> line.substring("$ ./waybill ".length()))
                .toList();
        assertThat(commands).hasSizeGreaterThan(8);
        try (ServerLab lab = new ServerLab(directory, Map.of())) {
            String effect = lab.unknownEffect();
            String webhook = lab.post("/api/v1/webhooks", "{'url':'$P/hooks'}").json().path("id").asString();
            for (String command : commands) {
                ByteArrayOutputStream printed = new ByteArrayOutputStream();
                List<String> words = new ArrayList<>();
                Matcher matcher = WORD.matcher(command.replace("EFFECT", effect).replace("WEBHOOK", webhook));
                while (matcher.find()) {
                    words.add(matcher.group(1) == null ? matcher.group(2) : matcher.group(1));
                }
                words.addAll(List.of("--server", "http://127.0.0.1:" + lab.server.port()));
                PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
                int exit = Cli.run(
                        words.toArray(String[]::new), Map.of(), Terminal.of(out, out, false, Map.of()), InstantSource.system(), UUID::randomUUID);
                assertThat(exit).as("%s: %s", command, printed.toString(StandardCharsets.UTF_8)).isZero();
            }
        }
    }
}

package dev.waybill.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.test.FakeProvider;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The commands of the README's server section, run as they stand there, against one server and a provider. */
class ReadmeCommandsTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern ADDRESS = Pattern.compile("http://127\\.0\\.0\\.1:(\\d+)");
    /** Words as a shell splits them, single quotes kept together. */
    private static final Pattern WORD = Pattern.compile("'([^']*)'|(\\S+)");

    @TempDir
    Path directory;

    @Test
    void everyCommandOfTheReadmeWorks() throws Exception {
        List<String> commands = Files.readString(ROOT.resolve("README.md")).lines()
                .filter(line -> line.startsWith("$ ./waybill "))
                .map(line -> line.substring("$ ./waybill ".length()))
                .toList();
        assertThat(commands).hasSizeGreaterThanOrEqualTo(4);
        assertThat(commands.getFirst()).startsWith("serve ");
        Path examples = Files.createDirectory(directory.resolve("examples"));
        try (FakeProvider provider = FakeProvider.start()) {
            String example = Files.readString(ROOT.resolve("examples/order.json"));
            Files.writeString(examples.resolve("order.json"), example.replace("127.0.0.1:7081", "127.0.0.1:" + provider.port()));
            Process server = waybill(commands.getFirst().replace("127.0.0.1:7081", "127.0.0.1:" + provider.port()), "WAYBILL_PORT", "0");
            try (BufferedReader out = new BufferedReader(new InputStreamReader(server.getInputStream(), StandardCharsets.UTF_8))) {
                String url = url(out);
                for (String command : commands.subList(1, commands.size())) {
                    Process process = waybill(command, "WAYBILL_URL", url);
                    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
                    assertThat(process.exitValue()).as("%s: %s", command, printed).isZero();
                }
                org.awaitility.Awaitility.await()
                        .atMost(java.time.Duration.ofSeconds(60))
                        .until(() -> provider.applied(d -> d.path().equals("/shipments")) == 1);
                assertThat(provider.deliveries().getFirst().idempotencyKey()).isEqualTo("charge-7");
            } finally {
                server.destroy();
                assertThat(server.waitFor(60, TimeUnit.SECONDS)).isTrue();
            }
        }
    }

    private Process waybill(String line, String variable, String value) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), "dev.waybill.server.Main"));
        Matcher words = WORD.matcher(line);
        while (words.find()) {
            command.add(words.group(1) == null ? words.group(2) : words.group(1));
        }
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).directory(directory.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("WAYBILL_"));
        builder.environment().put(variable, value);
        builder.environment().put("WAYBILL_SECRET_PAYMENTS_KEY", "sk_test_readme");
        return builder.start();
    }

    private static String url(BufferedReader out) throws IOException {
        StringBuilder seen = new StringBuilder();
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            seen.append(line).append('\n');
            Matcher address = ADDRESS.matcher(line);
            if (address.find()) {
                return address.group();
            }
        }
        throw new AssertionError("the server said no address: " + seen);
    }
}

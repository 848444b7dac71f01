package dev.waybill.server.cli;

import static dev.waybill.server.api.ServerLab.charge;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.server.api.Http;
import dev.waybill.test.Behaviour;
import dev.waybill.test.FakeProvider;
import dev.waybill.test.Rule;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real processes: exit codes as the shell sees them, signals, and what a start prints. */
class ProcessTest {
    private static final Pattern ADDRESS = Pattern.compile("http://127\\.0\\.0\\.1:(\\d+)");

    @TempDir
    Path directory;

    private Process waybill(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), "dev.waybill.server.Main"));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).directory(directory.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("WAYBILL_"));
        return builder.start();
    }

    private static String ended(Process process, int exit) throws IOException, InterruptedException {
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(out).isEqualTo(exit);
        return out;
    }

    @Test
    void exitCodesReachTheShell() throws Exception {
        assertThat(ended(waybill("--version"), 0)).startsWith("waybill ");
        assertThat(ended(waybill("serve"), 2)).contains("no API key is configured").contains("--insecure").doesNotContain("\tat ");
        assertThat(ended(waybill("serve", "--insecure", "--host", "0.0.0.0"), 2)).contains("--insecure serves this machine only");
        assertThat(ended(waybill("health", "--server", "http://127.0.0.1:1"), 7)).contains("no answer from http://127.0.0.1:1");
    }

    @Test
    void termDrainsTheCallInFlightAndExitsWithZero() throws Exception {
        try (FakeProvider provider = FakeProvider.start()) {
            provider.script(Rule.on("POST", "/charges").then(Behaviour.pauseAfterBooking()));
            Process server = serve(provider);
            try (BufferedReader out = new BufferedReader(new InputStreamReader(server.getInputStream(), StandardCharsets.UTF_8))) {
                Http http = new Http(port(out));
                publish(http, provider);
                assertThat(start(http).status()).isEqualTo(201);
                var booked = provider.awaitDelivery(d -> d.path().equals("/charges"), java.time.Duration.ofSeconds(30));

                server.toHandle().destroy();
                awaitLine(out, "draining");
                provider.release(booked.number());

                awaitLine(out, "stopped");
                assertThat(server.waitFor(60, TimeUnit.SECONDS)).isTrue();
                assertThat(server.exitValue()).isZero();
            }
            Process again = serve(provider);
            try (BufferedReader out = new BufferedReader(new InputStreamReader(again.getInputStream(), StandardCharsets.UTF_8))) {
                Http http = new Http(port(out));
                var effects = http.get("/api/v1/effects").json().path("items");
                assertThat(effects).hasSize(1);
                assertThat(effects.get(0).path("state").asString()).as(Json.write(effects)).isEqualTo("committed");
                assertThat(provider.applied()).isEqualTo(1);
            } finally {
                again.toHandle().destroy();
                assertThat(again.waitFor(60, TimeUnit.SECONDS)).isTrue();
            }
        }
    }

    @Test
    void aSecondTermEndsTheProcessAtOnce() throws Exception {
        try (FakeProvider provider = FakeProvider.start()) {
            provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenSwallow()));
            Process server = serve(provider);
            try (BufferedReader out = new BufferedReader(new InputStreamReader(server.getInputStream(), StandardCharsets.UTF_8))) {
                Http http = new Http(port(out));
                publish(http, provider);
                start(http);
                provider.awaitDelivery(d -> d.path().equals("/charges"), java.time.Duration.ofSeconds(30));
                server.toHandle().destroy();
                awaitLine(out, "draining");
                server.toHandle().destroy();
                assertThat(server.waitFor(60, TimeUnit.SECONDS)).isTrue();
                assertThat(server.exitValue()).isEqualTo(128 + 15);
            }
        }
    }

    private Process serve(FakeProvider provider) throws IOException {
        return waybill(
                "serve", "--insecure", "--port", "0", "--drain", "10m", "--store", "sqlite:" + directory.resolve("w.db"), "--allow-address",
                "127.0.0.1:" + provider.port());
    }

    private static void publish(Http http, FakeProvider provider) {
        String sequence = ("{'name':'pay','blocks':[" + charge("").replace("'timeout':2000", "'timeout':600000") + "]}")
                .replace('\'', '"')
                .replace("$P", provider.url(""));
        assertThat(http.post("/api/v1/sequences", sequence).status()).isEqualTo(201);
    }

    private static Http.Answer start(Http http) {
        return http.post("/api/v1/instances", "{\"sequence_name\":\"pay\",\"context\":{\"data\":{\"order\":\"S-1\"}}}");
    }

    /** What a start prints: the address and the store on the first line, and that it is ready. */
    private static int port(BufferedReader out) throws IOException {
        String first = awaitLine(out, "http://");
        assertThat(first).contains("store sqlite:");
        awaitLine(out, "ready");
        Matcher address = ADDRESS.matcher(first);
        assertThat(address.find()).isTrue();
        return Integer.parseInt(address.group(1));
    }

    private static String awaitLine(BufferedReader out, String text) throws IOException {
        StringBuilder seen = new StringBuilder();
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            if (line.contains(text)) {
                return line;
            }
            seen.append(line).append('\n');
        }
        throw new AssertionError("the process ended without saying " + text + ":\n" + seen);
    }
}

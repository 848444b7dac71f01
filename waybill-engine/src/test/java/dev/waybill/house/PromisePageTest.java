package dev.waybill.house;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every claim of docs/promise.md names tests, and they exist. */
class PromisePageTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern TEST = Pattern.compile("`(\\w+)#(\\w+)`");

    @Test
    void theTestsBehindThePromiseExist() throws IOException {
        String page = Files.readString(ROOT.resolve("docs/promise.md"));
        List<MatchResult> named = TEST.matcher(page).results().toList();
        assertThat(named).hasSizeGreaterThan(30);
        for (MatchResult one : named) {
            try (Stream<Path> files = Files.walk(ROOT)) {
                Path file = files.filter(path -> path.endsWith(one.group(1) + ".java") && path.toString().contains("src/test"))
                        .findFirst()
                        .orElseThrow(() -> new AssertionError("no test class " + one.group(1)));
                assertThat(Files.readString(file)).as(one.group()).contains("void " + one.group(2) + "(");
            }
        }
    }

    @Test
    void everyClaimHasATest() throws IOException {
        List<String> claims = Files.readString(ROOT.resolve("docs/promise.md")).lines()
                .filter(line -> line.startsWith("| ") && !line.startsWith("| claim"))
                .toList();
        assertThat(claims).hasSizeGreaterThan(20).allMatch(line -> TEST.matcher(line).find());
    }
}

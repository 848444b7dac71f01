package dev.waybill.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Every stable code has a page, and every page a code. A code is any literal of the main code in the shape of one: that nobody may
 * write such a literal for something else without naming it here is cheaper than a code without a page.
 */
class ErrorPagesTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Path PAGES = ROOT.resolve("docs/errors");
    private static final Pattern LITERAL = Pattern.compile("\"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\"|, \"(INTERNAL|STOPPING|UNAUTHORIZED)\"|\"(WB\\d{3})\"");
    private static final List<String> NOT_CODES = List.of("NO_COLOR", "SQLITE_IOERR", "XDG_STATE_HOME");

    private static TreeSet<String> codes() throws IOException {
        TreeSet<String> codes = new TreeSet<>();
        for (String module : List.of("waybill-engine", "waybill-server")) {
            try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/main/java"))) {
                for (Path file : files.filter(f -> f.toString().endsWith(".java")).toList()) {
                    Matcher literal = LITERAL.matcher(Files.readString(file));
                    while (literal.find()) {
                        String code = literal.group(1) != null ? literal.group(1) : literal.group(2) != null ? literal.group(2) : literal.group(3);
                        if (!code.startsWith("WAYBILL_") && !NOT_CODES.contains(code)) {
                            codes.add(code);
                        }
                    }
                }
            }
        }
        return codes;
    }

    private static TreeSet<String> pages() throws IOException {
        try (Stream<Path> files = Files.list(PAGES)) {
            TreeSet<String> pages = new TreeSet<>();
            files.map(f -> f.getFileName().toString()).filter(f -> !f.equals("README.md")).forEach(f -> pages.add(f.replace(".md", "")));
            return pages;
        }
    }

    @Test
    void everyCodeHasAPage() throws IOException {
        TreeSet<String> missing = codes();
        missing.removeAll(pages());
        assertThat(missing).as("codes without docs/errors/CODE.md").isEmpty();
    }

    @Test
    void everyPageIsAboutACode() throws IOException {
        TreeSet<String> stale = pages();
        stale.removeAll(codes());
        assertThat(stale).as("pages about codes that no longer exist").isEmpty();
    }

    @Test
    void aPageIsShortAndSaysWhatWhyAndWhatToDo() throws IOException {
        String index = Files.readString(PAGES.resolve("README.md"));
        for (String code : pages()) {
            List<String> lines = Files.readAllLines(PAGES.resolve(code + ".md"));
            assertThat(lines.getFirst()).isEqualTo("# " + code);
            assertThat(lines).contains("## Why", "## What to do").hasSizeLessThan(30);
            assertThat(index).contains("(" + code + ".md)");
        }
    }

    @Test
    void theServerHasThePagesWithIt() {
        assertThat(ErrorPagesTest.class.getResource("/dev/waybill/server/errors/EFFECT_UNRESOLVED.md")).isNotNull();
    }
}

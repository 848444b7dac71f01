package dev.waybill.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The script {@code ./waybill}, beside a jar that only says what it was called with. */
class LauncherTest {
    private static final Path SCRIPT = Path.of("..", "waybill").toAbsolutePath().normalize();

    @TempDir
    Path directory;

    private Path home;

    @BeforeEach
    void install() throws IOException {
        home = Files.createDirectories(directory.resolve("a home with spaces"));
        Files.copy(SCRIPT, home.resolve("waybill"), java.nio.file.StandardCopyOption.COPY_ATTRIBUTES);
        Path target = Files.createDirectories(home.resolve("waybill-server/target"));
        Path source = Files.writeString(directory.resolve("Echo.java"), """
                public class Echo {
                    public static void main(String[] arguments) {
                        System.out.println("java " + Runtime.version().feature());
                        for (String argument : arguments) {
                            System.out.println("[" + argument + "]");
                        }
                        System.exit(arguments.length);
                    }
                }
                """);
        assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, "-d", directory.toString(), source.toString())).isZero();
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, "Echo");
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JarOutputStream jar = new JarOutputStream(bytes, manifest)) {
            jar.putNextEntry(new JarEntry("Echo.class"));
            jar.write(Files.readAllBytes(directory.resolve("Echo.class")));
        }
        Files.write(target.resolve("waybill.jar"), bytes.toByteArray());
    }

    private String run(int exit, Map<String, String> environment, String... command) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).directory(directory.toFile());
        builder.environment().remove("WAYBILL_JAVA_HOME");
        builder.environment().putAll(environment);
        Process process = builder.start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(out).isEqualTo(exit);
        return out;
    }

    @Test
    void argumentsAndTheExitCodeArriveAsTheyAre() throws Exception {
        assertThat(run(3, Map.of(), home.resolve("waybill").toString(), "run", "a b", "$HOME *")).endsWith("[run]\n[a b]\n[$HOME *]\n");
    }

    @Test
    void itFindsItsHomeThroughASymbolicLinkFromAnotherFolder() throws Exception {
        Path bin = Files.createDirectories(directory.resolve("bin dir"));
        Files.createSymbolicLink(bin.resolve("direct"), home.resolve("waybill"));
        Files.createSymbolicLink(bin.resolve("relative"), Path.of("direct"));
        assertThat(run(1, Map.of(), bin.resolve("relative").toString(), "x")).contains("[x]");
    }

    @Test
    void aJavaThatIsTooOldIsPassedOver() throws Exception {
        Path old = Files.createDirectories(directory.resolve("old jdk/bin"));
        Path java = Files.writeString(old.resolve("java"), "#!/bin/sh\necho '    java.specification.version = 17' >&2\n");
        assertThat(java.toFile().setExecutable(true)).isTrue();
        Map<String, String> environment = Map.of(
                "WAYBILL_JAVA_HOME", old.getParent().toString(), "JAVA_HOME", System.getProperty("java.home"));
        assertThat(run(1, environment, home.resolve("waybill").toString(), "x")).contains("java 25").contains("[x]");
    }

    @Test
    void sourcesThatAreNewerThanTheJarAreBuiltOnceMore() throws Exception {
        Path jar = home.resolve("waybill-server/target/waybill.jar");
        Path pom = Files.writeString(home.resolve("pom.xml"), "<project/>");
        Path code = Files.writeString(Files.createDirectories(home.resolve("waybill-server/src/main/java")).resolve("A.java"), "");
        java.nio.file.attribute.FileTime built = Files.getLastModifiedTime(jar);
        for (Path old : new Path[] {pom, code, code.getParent(), code.getParent().getParent()}) {
            Files.setLastModifiedTime(old, java.nio.file.attribute.FileTime.fromMillis(built.toMillis() - 60_000));
        }
        Path bin = Files.createDirectories(directory.resolve("maven"));
        Path mvn = Files.writeString(bin.resolve("mvn"), "#!/bin/sh\necho built >>'" + directory.resolve("builds") + "'\n");
        assertThat(mvn.toFile().setExecutable(true)).isTrue();
        Map<String, String> environment = Map.of("PATH", bin + ":" + System.getenv("PATH"), "JAVA_HOME", System.getProperty("java.home"));
        run(1, environment, home.resolve("waybill").toString(), "x");
        assertThat(directory.resolve("builds")).doesNotExist();

        Files.setLastModifiedTime(code, java.nio.file.attribute.FileTime.fromMillis(built.toMillis() + 60_000));
        Files.setLastModifiedTime(jar, java.nio.file.attribute.FileTime.fromMillis(built.toMillis() - 1_000));
        assertThat(run(1, environment, home.resolve("waybill").toString(), "x")).contains("building waybill-server");
        Files.setLastModifiedTime(code, built);
        run(1, environment, home.resolve("waybill").toString(), "x");
        assertThat(directory.resolve("builds")).hasContent("built");
    }

    @Test
    void withoutMavenAndWithoutAJarItSaysWhatIsMissing() throws Exception {
        Files.delete(home.resolve("waybill-server/target/waybill.jar"));
        Path bin = Files.createDirectories(directory.resolve("only sh"));
        for (String tool : new String[] {"sed", "dirname", "readlink", "cat", "mkdir"}) {
            Path wrapper = Files.writeString(bin.resolve(tool), "#!/bin/sh\nexec '" + tool(tool) + "' \"$@\"\n");
            assertThat(wrapper.toFile().setExecutable(true)).isTrue();
        }
        Map<String, String> environment = Map.of("PATH", bin.toString(), "JAVA_HOME", System.getProperty("java.home"));
        assertThat(run(2, environment, home.resolve("waybill").toString(), "x")).contains("Maven is not installed").hasLineCount(1);
    }

    private static Path tool(String name) {
        for (String folder : System.getenv("PATH").split(":")) {
            Path candidate = Path.of(folder, name);
            if (Files.isExecutable(candidate)) {
                return candidate;
            }
        }
        throw new AssertionError("this machine has no " + name);
    }
}

package dev.waybill.lab.mutants;

import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/** Compiles mutants, and the tests that are to kill them, against the classes this JVM runs with. */
final class Forge {
    private final SourceTree sources;
    private final Path directory;
    private final JavaCompiler compiler;

    /** @param directory where the classes go; the caller deletes it */
    Forge(SourceTree sources, Path directory) {
        JavaCompiler found = ToolProvider.getSystemJavaCompiler();
        if (found == null) {
            throw new IllegalStateException("mutants are compiled: this needs a JDK, not a JRE");
        }
        this.sources = sources;
        this.directory = directory;
        this.compiler = found;
    }

    /**
     * The patched classes, in a directory of their own.
     *
     * @throws SourceTree.MovedException when the engine has changed where the mutant changes it
     */
    Path mutant(Mutant mutant) {
        List<JavaFileObject> units = new ArrayList<>();
        for (String name : mutant.classes()) {
            units.add(new Source(name, sources.mutated(mutant, name)));
        }
        Path to = directory.resolve(mutant.name());
        compile("mutant " + mutant.name(), units, to, List.of());
        return to;
    }

    /** The named test classes and whatever of the test trees they need. */
    List<Path> tests(Collection<String> classNames) {
        List<Path> trees = Stream.of("waybill-engine", "waybill-lab").map(module -> sources.tests(module).resolve("java")).toList();
        List<JavaFileObject> units = new ArrayList<>();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            for (String name : classNames) {
                Path file = trees.stream()
                        .map(tree -> tree.resolve(name.replace('.', '/') + ".java"))
                        .filter(Files::exists)
                        .findFirst()
                        .orElseThrow(() -> new IllegalStateException("there is no test " + name));
                files.getJavaFileObjects(file).forEach(units::add);
            }
            Path to = directory.resolve("tests");
            compile(
                    "the tests", units, to,
                    List.of("-sourcepath", trees.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator)), "-implicit:class"));
            return List.of(to, sources.tests("waybill-engine").resolve("resources"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void compile(String what, List<JavaFileObject> units, Path to, List<String> more) {
        try {
            Files.createDirectories(to);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        List<String> options = new ArrayList<>(List.of("-parameters", "-proc:none", "-nowarn", "-cp", classPath(), "-d", to.toString()));
        options.addAll(more);
        var said = new StringWriter();
        @Nullable Boolean good = compiler.getTask(said, null, null, options, null, units).call();
        if (!Boolean.TRUE.equals(good)) {
            throw new IllegalStateException(what + " does not compile:\n" + said);
        }
    }

    /** Surefire may have put the real class path into a manifest; it keeps the list in a property of its own then. */
    static String classPath() {
        String surefire = System.getProperty("surefire.test.class.path");
        return surefire != null ? surefire : System.getProperty("java.class.path");
    }

    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String className, String text) {
            super(URI.create("string:///" + className.replace('.', '/') + Kind.SOURCE.extension), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }
}

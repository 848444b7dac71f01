package dev.waybill.lab.mutants;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The checkout this lab was built in: mutants are differences to its sources. */
record SourceTree(Path root) {
    private static final String ENGINE = "waybill-engine/src/main/java";

    /** Looks upwards from where the lab's classes lie. */
    static SourceTree find() {
        Path from;
        try {
            from = Path.of(SourceTree.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException("the lab's classes lie in a file system", e);
        }
        for (Path at = from; at != null; at = at.getParent()) {
            if (Files.isDirectory(at.resolve(ENGINE))) {
                return new SourceTree(at);
            }
        }
        throw new IllegalStateException("mutants are made from the engine's sources, and above " + from + " there are none");
    }

    Path file(String className) {
        return root.resolve(ENGINE).resolve(className.replace('.', '/') + ".java");
    }

    Path tests(String module) {
        return root.resolve(module + "/src/test");
    }

    /**
     * The source of a class after the mutant's edits to it.
     *
     * @throws MovedException when an edit does not find its place
     */
    String mutated(Mutant mutant, String className) {
        String source;
        try {
            source = Files.readString(file(className));
        } catch (IOException e) {
            throw new UncheckedIOException("mutant " + mutant.name() + ": no source of " + className, e);
        }
        for (Mutant.Edit edit : mutant.edits()) {
            if (edit.className().equals(className)) {
                source = edited(mutant, edit, source);
            }
        }
        return source;
    }

    private static String edited(Mutant mutant, Mutant.Edit edit, String source) {
        Matcher found = loosely(edit.from()).matcher(source);
        if (!found.find()) {
            throw new MovedException(mutant, edit, "its text is not there");
        }
        int start = found.start();
        int end = found.end();
        if (found.find()) {
            throw new MovedException(mutant, edit, "its text is there more than once");
        }
        Matcher method = Pattern.compile("\\b" + Pattern.quote(edit.method()) + "\\b").matcher(source);
        if (!method.find() || method.start() > start) {
            throw new MovedException(mutant, edit, "its text stands before any " + edit.method());
        }
        return source.substring(0, start) + edit.to() + source.substring(end);
    }

    private static Pattern loosely(String text) {
        StringBuilder pattern = new StringBuilder();
        for (String word : text.strip().split("\\s+")) {
            pattern.append(pattern.isEmpty() ? "" : "\\s+").append(Pattern.quote(word));
        }
        return Pattern.compile(pattern.toString());
    }

    /** The engine has changed under a mutant: it must be written anew, or it would silently become the true engine. */
    static final class MovedException extends IllegalStateException {
        private static final long serialVersionUID = 1L;

        MovedException(Mutant mutant, Mutant.Edit edit, String why) {
            super("mutant " + mutant.name() + " no longer fits " + edit.type() + "#" + edit.method() + ": " + why + ": " + edit.from().strip());
        }
    }
}

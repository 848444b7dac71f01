package dev.waybill.lab.mutants;

import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The classes of a mutant, ready to be loaded before the true ones.
 *
 * @param directory where they lie
 * @param classes   what is patched; their nested classes come with them
 */
record Patched(Path directory, List<String> classes) {

    /** The first arguments of a child process. */
    static List<String> arguments(@Nullable Patched patched) {
        List<String> arguments = new ArrayList<>();
        arguments.add(patched == null ? "-" : patched.directory().toString());
        arguments.add(Integer.toString(patched == null ? 0 : patched.classes().size()));
        if (patched != null) {
            arguments.addAll(patched.classes());
        }
        return arguments;
    }

    /**
     * In the child: a mutant whose classes are not the ones in force would be the true engine.
     *
     * @return index of the first argument that is the child's own
     */
    static int require(String[] arguments) throws ReflectiveOperationException {
        int end = 2 + Integer.parseInt(arguments[1]);
        for (int i = 2; i < end; i++) {
            Class<?> type = Class.forName(arguments[i], false, Patched.class.getClassLoader());
            try {
                Path where = Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
                if (!where.equals(Path.of(arguments[0]))) {
                    throw new IllegalStateException(arguments[i] + " was loaded from " + where + ", not from " + arguments[0]);
                }
            } catch (URISyntaxException e) {
                throw new IllegalStateException(e);
            }
        }
        return end;
    }
}

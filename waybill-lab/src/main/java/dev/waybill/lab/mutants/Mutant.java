package dev.waybill.lab.mutants;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The engine with one rule taken out. It exists only as a difference to the engine's source: nothing of it is in the product, and a
 * child process that has it loads the patched classes before the true ones.
 *
 * @param name   for people and the command line
 * @param breaks the sentence it violates, as semantics.md or store.md has it
 * @param edits  what is changed
 * @param tests  test classes below {@code dev.waybill} ({@code engine.LedgerTest}, or one method of it: {@code engine.LedgerTest#name});
 *               <em>each</em> must fail. A mutant of all three stores names a suite of each
 */
record Mutant(String name, String breaks, List<Edit> edits, List<String> tests) {

    /**
     * @param type   class below {@code dev.waybill}, for example {@code engine.Turn}
     * @param method where in it; the text must stand behind the first mention of that name
     * @param from   text that occurs exactly once; white space is compared as one blank
     * @param to     what stands there instead
     */
    record Edit(String type, String method, String from, String to) {
        String className() {
            return "dev.waybill." + type;
        }
    }

    static Mutant of(String name, String breaks) {
        return new Mutant(name, breaks, List.of(), List.of());
    }

    /** @param where {@code engine.Turn#recover} */
    Mutant with(String where, String from, String to) {
        int hash = where.indexOf('#');
        List<Edit> more = new ArrayList<>(edits);
        more.add(new Edit(where.substring(0, hash), where.substring(hash + 1), from, to));
        return new Mutant(name, breaks, List.copyOf(more), tests);
    }

    Mutant killedBy(String... names) {
        return new Mutant(name, breaks, edits, List.of(names));
    }

    /** Class names of what is changed, each once. */
    List<String> classes() {
        return edits.stream().map(Edit::className).distinct().toList();
    }

    String places() {
        return edits.stream().map(edit -> edit.type() + "#" + edit.method()).distinct().collect(Collectors.joining(", "));
    }
}

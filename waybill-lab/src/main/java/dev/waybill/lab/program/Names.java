package dev.waybill.lab.program;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import tools.jackson.databind.node.ObjectNode;

/** What the blocks at one place of a program may read and write. */
final class Names {
    /** Paths that surely hold an integer. */
    final Set<String> numbers = new LinkedHashSet<>();
    /** Paths that hold an integer or nothing. */
    final Set<String> maybe = new LinkedHashSet<>();
    /** State that surely holds an integer and that only what stands here, or before it, writes. */
    final Set<String> writable = new LinkedHashSet<>();
    /** Items run beside each other: none may write. */
    boolean beside;
    /** A failure here is caught. */
    boolean risky;
    /** {@code error} is there. */
    boolean error;

    static Names of(ObjectNode data) {
        Names names = new Names();
        names.numbers.add("data.n");
        names.numbers.add("data.m");
        if (!data.path("nums").isEmpty()) {
            names.maybe.add("data.nothing");
        }
        return names;
    }

    /** A part that runs after everything before it and before everything behind it. */
    Names inside() {
        Names copy = branch();
        copy.writable.addAll(writable);
        return copy;
    }

    /** A part that runs beside others: it reads what was there before, and writes only what is its own. */
    Names branch() {
        Names copy = new Names();
        copy.numbers.addAll(numbers);
        copy.maybe.addAll(maybe);
        copy.beside = beside;
        copy.risky = risky;
        copy.error = error;
        return copy;
    }

    /** A loop names its item like this: what an outer one called so is out of sight. */
    void hide(String variable) {
        numbers.removeIf(path -> path.equals(variable) || path.startsWith(variable + "."));
    }

    /** A branch that surely has run to its end. */
    void joined(Names branch) {
        branch.numbers.stream().filter(path -> path.startsWith("outputs.") || path.startsWith("state.")).forEach(numbers::add);
        maybe.addAll(branch.maybe);
        writable.addAll(branch.writable);
    }

    /** A part that may have run, or only in part. */
    void left(Names part) {
        List<String> all = new ArrayList<>(part.numbers);
        all.addAll(part.maybe);
        all.removeAll(numbers);
        all.stream().filter(path -> path.startsWith("outputs.") || path.startsWith("state.")).forEach(maybe::add);
    }
}

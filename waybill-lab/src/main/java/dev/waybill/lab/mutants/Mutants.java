package dev.waybill.lab.mutants;

import java.util.List;
import java.util.stream.Stream;

/** All standing mutants. */
final class Mutants {
    private Mutants() {}

    static List<Mutant> all() {
        return Stream.concat(StoreMutants.all().stream(), EngineMutants.all().stream()).toList();
    }

    /**
     * @param names none means all
     * @throws IllegalArgumentException when there is no mutant of a name
     */
    static List<Mutant> named(List<String> names) {
        List<Mutant> all = all();
        if (names.isEmpty()) {
            return all;
        }
        return names.stream()
                .map(name -> all.stream()
                        .filter(mutant -> mutant.name().equals(name))
                        .findFirst()
                        .orElseThrow(() -> new IllegalArgumentException("no mutant named " + name)))
                .toList();
    }
}

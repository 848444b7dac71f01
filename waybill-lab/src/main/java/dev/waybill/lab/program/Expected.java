package dev.waybill.lab.program;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * What must come of a program, however its branches interleave.
 *
 * @param state    completed, failed or waiting
 * @param output   of the run, when it completes
 * @param errors   when it fails: one of these
 * @param facts    by path; what is not here must not exist
 * @param waits    while it waits: {@code reason path}, all of them
 */
public record Expected(
        String state, @Nullable JsonNode output, Set<Error> errors, Map<String, Fact> facts, Set<String> waits) {

    public record Error(String code, String path) {}

    /** What was left undone is seen when the run ended beside it. */
    public enum Certainty {
        /** In every legal history. */
        MUST,
        /** A branch beside it may have ended the run before it began or while it ran. */
        MAY
    }

    /**
     * @param output   of a block that ends well, or null when it ends in error or never
     * @param attempts of an effect, in order: states of its receipts at the end; null for a block without receipts
     * @param applied  how often the provider books it: 0 or 1
     * @param key      its idempotency key, {@code RUN} standing for the run's name, or null
     * @param after    effects that have been dispatched, and have ended, before this one is dispatched
     * @param behind   effects that have ended before it, if they were dispatched at all
     */
    public record Fact(
            Certainty certainty,
            @Nullable JsonNode output,
            @Nullable List<String> attempts,
            int applied,
            @Nullable String key,
            Set<String> after,
            Set<String> behind) {
        Fact may() {
            return new Fact(Certainty.MAY, output, attempts, applied, key, after, behind);
        }

        boolean effect() {
            return attempts != null;
        }
    }

    /** How much of it is held against what happened. */
    public enum Rigour {
        /** Nothing was killed, cut or lost: every attempt is known. */
        EXACT,
        /** Crashes may have added attempts; result, outputs, order and bookings stay. */
        UNDER_FAULTS
    }

    /** Every difference, in words; empty when it is as it must be. */
    public List<String> check(Actual actual, Rigour rigour) {
        List<String> differences = new ArrayList<>();
        how(actual, differences);
        facts.forEach((path, fact) -> {
            output(path, fact, actual, differences);
            if (fact.effect()) {
                effect(path, fact, actual, rigour, differences);
            }
        });
        actual.outputs().forEach((path, output) -> {
            Fact fact = facts.get(path);
            if (fact == null || fact.output == null) {
                differences.add(path + " has the output " + output + "; it must have none");
            }
        });
        actual.effects().keySet().forEach(path -> {
            Fact fact = facts.get(path);
            if (fact == null || !fact.effect()) {
                differences.add(path + " has receipts; no way through the program sends anything there");
            }
        });
        return differences;
    }

    private void how(Actual actual, List<String> differences) {
        if (!actual.state().equals(state)) {
            differences.add("the run is " + actual.state() + " " + actual.error() + " " + actual.waits() + ", it must be " + state + " " + errors + " " + waits);
            return;
        }
        switch (state) {
            case "completed" -> {
                if (output != null && (actual.output() == null || !same(output, actual.output()))) {
                    differences.add("the run's output is " + actual.output() + ", it must be " + output);
                }
            }
            case "failed" -> {
                if (actual.error() == null || !errors.contains(actual.error())) {
                    differences.add("the run failed with " + actual.error() + ", it must be one of " + errors);
                }
            }
            default -> {
                if (!actual.waits().equals(waits)) {
                    differences.add("the run waits for " + actual.waits() + ", it must be " + waits);
                }
            }
        }
    }

    private static void output(String path, Fact fact, Actual actual, List<String> differences) {
        JsonNode output = actual.outputs().get(path);
        if (output == null) {
            if (fact.output != null && fact.certainty == Certainty.MUST) {
                differences.add(path + " has no output, it must be " + fact.output);
            }
        } else if (fact.output != null && !same(fact.output, output)) {
            differences.add(path + " has the output " + output + ", it must be " + fact.output);
        }
    }

    private void effect(String path, Fact fact, Actual actual, Rigour rigour, List<String> differences) {
        List<String> wanted = fact.attempts == null ? List.of() : fact.attempts;
        Actual.Effect effect = actual.effects().get(path);
        if (effect == null) {
            if (fact.certainty == Certainty.MUST) {
                differences.add(path + " was never dispatched, it must be " + wanted);
            }
            return;
        }
        if (rigour == Rigour.EXACT ? !exactly(fact, wanted, effect.states()) : !ended(fact, wanted, effect.states())) {
            differences.add(path + " has the receipts " + effect.states() + ", they must be " + wanted + " (" + fact.certainty + ")");
        }
        if (effect.applied() != null) {
            boolean whole = fact.certainty == Certainty.MUST || fact.output != null && actual.outputs().containsKey(path);
            if (whole ? effect.applied() != fact.applied : effect.applied() > fact.applied) {
                differences.add(path + " was booked " + effect.applied() + " times, it must be " + fact.applied);
            }
        }
        if (effect.key() != null ? !effect.key().equals(fact.key) : fact.key != null) {
            differences.add(path + " went out under the key " + effect.key() + ", it must be " + fact.key);
        }
        order(path, fact, effect, actual, differences);
    }

    private static boolean exactly(Fact fact, List<String> wanted, List<String> states) {
        if (states.equals(wanted)) {
            return true;
        }
        if (fact.certainty == Certainty.MUST || states.size() > wanted.size()) {
            return false;
        }
        // The run ended beside it: the last receipt may still be what nobody had decided on.
        int last = states.size() - 1;
        boolean undecided = states.get(last).equals("unknown") && Set.of("committed", "verified", "abandoned").contains(wanted.get(last));
        return states.subList(0, last).equals(wanted.subList(0, last)) && (states.get(last).equals(wanted.get(last)) || undecided);
    }

    private static boolean ended(Fact fact, List<String> wanted, List<String> states) {
        boolean undecided = fact.certainty == Certainty.MAY;
        for (int i = 0; i < states.size() - 1; i++) {
            if (!Set.of("not_applied", "abandoned").contains(states.get(i))) {
                return false;
            }
        }
        String last = states.getLast();
        return undecided || kind(last).equals(kind(wanted.getLast()));
    }

    private static String kind(String state) {
        return switch (state) {
            case "committed", "verified" -> "applied";
            case "not_applied", "abandoned" -> "not applied";
            default -> state;
        };
    }

    private static void order(String path, Fact fact, Actual.Effect effect, Actual actual, List<String> differences) {
        for (String before : fact.after) {
            if (!actual.effects().containsKey(before)) {
                differences.add(path + " was dispatched although " + before + " before it was not");
            }
        }
        for (Set<String> all : List.of(fact.after, fact.behind)) {
            for (String before : all) {
                Actual.Effect other = actual.effects().get(before);
                if (other != null && effect.begun() != null && other.ended() != null && other.ended() > effect.begun()) {
                    differences.add(path + " was dispatched at " + effect.begun() + ", before " + before + " ended at " + other.ended());
                }
            }
        }
    }

    /** Equal as JSON; of an HTTP answer the headers are the transport's business. */
    private static boolean same(JsonNode wanted, JsonNode actual) {
        return Formula.same(plain(wanted), plain(actual));
    }

    private static JsonNode plain(JsonNode output) {
        if (output instanceof ObjectNode object && object.has("status") && object.has("body")) {
            ObjectNode copy = object.deepCopy();
            copy.remove("headers");
            return copy;
        }
        return output;
    }
}

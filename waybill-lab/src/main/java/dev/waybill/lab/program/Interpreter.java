package dev.waybill.lab.program;

import dev.waybill.lab.program.Expected.Certainty;
import dev.waybill.lab.program.Expected.Error;
import dev.waybill.lab.program.Expected.Fact;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Works out what must come of a program, from language.md and semantics.md alone. Branches are walked one after the other: the generator
 * lets no branch read what one beside it writes, so their results do not depend on how they interleave. What may or may not have happened
 * when a branch ends the run is marked so.
 */
final class Interpreter {
    /** More than one result is right, or the program is too large. */
    static final class NotComputable extends Exception {
        private static final long serialVersionUID = 1L;

        NotComputable(String why) {
            super(why, null, false, false);
        }
    }

    /** How a part of the program stands when everything that can happen in it has happened. */
    sealed interface Status {
        /** @param ends effects that have ended by now */
        record Done(Ends ends) implements Status {}

        /** @param errors where nothing catches it, any of these may be the one that ended the run; the first is the one a catch sees */
        record Failed(Ends ends, List<Error> errors) implements Status {}

        /** The run fails whatever stands around: an unknown effect whose policy says so. */
        record Stopped(List<Error> errors) implements Status {}

        /** For ever. */
        record Waiting() implements Status {}
    }

    /**
     * @param must have been dispatched and have ended
     * @param may  have ended if they were dispatched
     */
    record Ends(Set<String> must, Set<String> may) {
        static final Ends NONE = new Ends(Set.of(), Set.of());

        Ends and(Ends other) {
            return new Ends(union(must, other.must), union(may, other.may));
        }

        Ends perhaps() {
            return new Ends(Set.of(), union(must, may));
        }

        private static Set<String> union(Set<String> a, Set<String> b) {
            Set<String> all = new TreeSet<>(a);
            all.addAll(b);
            return all;
        }
    }

    /** @param caught a failure here goes to a catch or a finally: branches beside it run to their end */
    record Place(String prefix, Map<String, JsonNode> variables, boolean caught) {
        Place with(String name, JsonNode value) {
            Map<String, JsonNode> more = new HashMap<>(variables);
            more.put(name, value);
            return new Place(prefix, more, caught);
        }

        Place guarded() {
            return new Place(prefix, variables, true);
        }

        Place iteration(String path, int index) {
            return new Place(path + "[" + index + "]/", variables, caught);
        }

        /** Every prefix around, the innermost first. */
        List<String> around() {
            List<String> prefixes = new ArrayList<>();
            String rest = prefix;
            while (!rest.isEmpty()) {
                prefixes.add(rest);
                rest = rest.substring(0, rest.lastIndexOf('/', rest.length() - 2) + 1);
            }
            prefixes.add("");
            return prefixes;
        }
    }

    static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    final Map<String, JsonNode> outputs = new HashMap<>();
    final Map<String, JsonNode> variables = new HashMap<>();
    private final ObjectNode document;
    private final ObjectNode data;
    private final Set<String> stepIds = new TreeSet<>();
    private final List<Map.Entry<String, Fact>> facts = new ArrayList<>();
    private final Set<String> waits = new TreeSet<>();
    private final Set<String> met = new TreeSet<>();
    private final StepRun steps;
    private final int maxEffects;
    private int effects;

    Interpreter(ObjectNode document, ObjectNode data, Script script, int maxEffects) {
        this.document = document;
        this.data = data;
        this.maxEffects = maxEffects;
        this.steps = new StepRun(this, script, document.path("on_unknown"));
        collect(document.path("blocks"));
    }

    private void collect(JsonNode node) {
        if (node.isObject() && node.has("id") && List.of("step", "loop", "for_each").contains(node.path("type").asString(""))) {
            stepIds.add(node.path("id").asString());
        }
        node.forEach(this::collect);
    }

    /** What it came across: scripted reactions and ways of ending. */
    Set<String> met() {
        return met;
    }

    void meet(String what) {
        met.add(what);
    }

    Expected run() throws NotComputable {
        Status status = blocks(document.path("blocks"), new Place("", Map.of(), false), Ends.NONE);
        Map<String, Fact> byPath = new TreeMap<>();
        for (Map.Entry<String, Fact> fact : facts) {
            if (byPath.put(fact.getKey(), fact.getValue()) != null) {
                throw new IllegalStateException(fact.getKey() + " was walked twice");
            }
        }
        return switch (status) {
            case Status.Done(Ends _) -> new Expected("completed", output(), Set.of(), byPath, Set.of());
            case Status.Failed(Ends _, List<Error> errors) -> new Expected("failed", null, Set.copyOf(errors), byPath, Set.of());
            case Status.Stopped(List<Error> errors) -> new Expected("failed", null, Set.copyOf(errors), byPath, Set.of());
            case Status.Waiting() -> new Expected("waiting", null, Set.of(), byPath, Set.copyOf(waits));
        };
    }

    /** Of the last block. */
    private JsonNode output() {
        JsonNode blocks = document.path("blocks");
        JsonNode last = outputs.get(blocks.path(blocks.size() - 1).path("id").asString(""));
        return last == null ? NODES.nullNode() : last;
    }

    // --- what is noted ---------------------------------------------------------------------------------------------------------

    void output(String path, JsonNode output) {
        outputs.put(path, output);
        facts.add(Map.entry(path, new Fact(Certainty.MUST, output, null, 0, null, Set.of(), Set.of())));
    }

    void effect(String path, @Nullable JsonNode output, List<String> attempts, int applied, @Nullable String key, Ends before)
            throws NotComputable {
        if (++effects > maxEffects) {
            throw new NotComputable("more than " + maxEffects + " effects");
        }
        if (output != null) {
            outputs.put(path, output);
        }
        facts.add(Map.entry(path, new Fact(Certainty.MUST, output, List.copyOf(attempts), applied, key, before.must, before.may)));
    }

    void waitsFor(String reason, String path) {
        waits.add(reason + " " + path);
    }

    private void perhaps(int from, int to) {
        for (int i = from; i < to; i++) {
            facts.set(i, Map.entry(facts.get(i).getKey(), facts.get(i).getValue().may()));
        }
    }

    // --- scope -----------------------------------------------------------------------------------------------------------------

    @Nullable JsonNode root(String name, Place place, String path, int attempt) {
        JsonNode variable = place.variables.get(name);
        if (variable != null) {
            return variable;
        }
        return switch (name) {
            case "data", "payload", "input" -> data;
            case "outputs", "steps" -> visible(place);
            case "state" -> {
                ObjectNode all = NODES.objectNode();
                variables.forEach(all::set);
                yield all;
            }
            case "runtime" -> NODES.objectNode().put("block_path", path).put("attempt", attempt);
            case "attempt" -> NODES.numberNode(attempt);
            default -> null;
        };
    }

    /** The outputs of this iteration before those of what stands around it. */
    private ObjectNode visible(Place place) {
        ObjectNode all = NODES.objectNode();
        for (String id : stepIds) {
            place.around().stream().map(prefix -> outputs.get(prefix + id)).filter(java.util.Objects::nonNull).findFirst()
                    .ifPresent(output -> all.set(id, output));
        }
        return all;
    }

    private boolean holds(JsonNode condition, Place place, String path) throws Formula.Failure {
        return Formula.condition(condition, name -> root(name, place, path, 0));
    }

    // --- the walk --------------------------------------------------------------------------------------------------------------

    private Status blocks(JsonNode list, Place place, Ends before) throws NotComputable {
        Ends ends = before;
        for (JsonNode block : list) {
            String path = place.prefix + block.path("id").asString();
            Status status =
                    switch (block.path("type").asString()) {
                        case "step" -> steps.run(block, place, path, ends);
                        case "parallel" -> parallel(block, place, ends);
                        case "router" -> router(block, place, path, ends);
                        case "try_catch" -> tryCatch(block, place, ends);
                        case "for_each" -> forEach(block, place, path, ends);
                        case "loop" -> loop(block, place, path, ends);
                        default -> throw new IllegalStateException("unknown block " + block);
                    };
            if (!(status instanceof Status.Done(Ends after))) {
                return status;
            }
            ends = after;
        }
        return new Status.Done(ends);
    }

    static Status failed(String path, String code, Ends ends) {
        return new Status.Failed(ends, List.of(new Error(code, path)));
    }

    private Status parallel(JsonNode block, Place place, Ends before) throws NotComputable {
        List<Status> parts = new ArrayList<>();
        List<Integer> bounds = new ArrayList<>(List.of(facts.size()));
        for (JsonNode branch : block.path("branches")) {
            parts.add(blocks(branch, place, before));
            bounds.add(facts.size());
        }
        return joined(parts, bounds, place, before);
    }

    /**
     * Ends what runs side by side. A part that ends the run leaves those beside it anywhere; where a failure is caught every part runs to
     * its end.
     *
     * @param bounds where the facts of each part begin, and where the last ones end
     */
    private Status joined(List<Status> parts, List<Integer> bounds, Place place, Ends before) {
        List<Integer> enders = new ArrayList<>();
        List<Error> failures = new ArrayList<>();
        List<Error> stops = new ArrayList<>();
        boolean waiting = false;
        Ends ends = before;
        for (int i = 0; i < parts.size(); i++) {
            switch (parts.get(i)) {
                case Status.Done(Ends after) -> ends = ends.and(after);
                case Status.Waiting() -> waiting = true;
                case Status.Failed(Ends after, List<Error> more) -> {
                    ends = ends.and(after);
                    failures.addAll(more);
                    if (!place.caught) {
                        enders.add(i);
                    }
                }
                case Status.Stopped(List<Error> more) -> {
                    stops.addAll(more);
                    enders.add(i);
                }
            }
        }
        if (!enders.isEmpty()) {
            for (int i = 0; i < parts.size(); i++) {
                if (enders.size() > 1 || enders.getFirst() != i) {
                    perhaps(bounds.get(i), bounds.get(i + 1));
                }
            }
            if (stops.isEmpty()) {
                return new Status.Failed(ends, failures);
            }
            // What would be caught comes to nothing when the run is stopped beside it.
            stops.addAll(place.caught ? List.of() : failures);
            return new Status.Stopped(stops);
        }
        if (waiting) {
            return new Status.Waiting();
        }
        return failures.isEmpty() ? new Status.Done(ends) : new Status.Failed(ends, failures);
    }

    private Status router(JsonNode block, Place place, String path, Ends before) throws NotComputable {
        try {
            for (JsonNode route : block.path("routes")) {
                if (holds(route.path("condition"), place, path)) {
                    return blocks(route.path("blocks"), place, before);
                }
            }
        } catch (Formula.Failure e) {
            return failed(path, e.code, before);
        }
        return blocks(block.path("default"), place, before);
    }

    private Status tryCatch(JsonNode block, Place place, Ends before) throws NotComputable {
        Status outcome = blocks(block.path("try_block"), place.guarded(), before);
        boolean finallyThere = !block.path("finally_block").isEmpty();
        if (outcome instanceof Status.Failed(Ends ends, List<Error> errors)) {
            meet("caught " + errors.getFirst().code());
            ObjectNode error = NODES.objectNode().put("code", errors.getFirst().code()).put("path", errors.getFirst().path());
            Place catching = place.with("error", error);
            outcome = blocks(block.path("catch_block"), finallyThere ? catching.guarded() : catching, ends);
        }
        Ends ends;
        switch (outcome) {
            case Status.Done(Ends after) -> ends = after;
            case Status.Failed(Ends after, List<Error> _) -> ends = after;
            case Status.Stopped _, Status.Waiting _ -> {
                return outcome;
            }
        }
        Status last = blocks(block.path("finally_block"), place, ends);
        if (!(last instanceof Status.Done(Ends after))) {
            return last;
        }
        return outcome instanceof Status.Failed(Ends _, List<Error> errors) ? new Status.Failed(after, errors) : last;
    }

    private Status forEach(JsonNode block, Place place, String path, Ends before) throws NotComputable {
        JsonNode items;
        try {
            JsonNode written = block.path("collection");
            boolean bare = written.isString() && !written.asString().startsWith("= ") && !written.asString().contains("{{");
            items = Formula.value(bare ? NODES.stringNode("= " + written.asString()) : written, name -> root(name, place, path, 0));
        } catch (Formula.Failure e) {
            return failed(path, e.code, before);
        }
        if (!items.isArray()) {
            return failed(path, "COLLECTION_NOT_ARRAY", before);
        }
        if (items.size() > block.path("max_iterations").asInt(1_000)) {
            return failed(path, "COLLECTION_TOO_LARGE", before);
        }
        int concurrency = block.path("concurrency").asInt(1);
        String variable = block.path("item_var").asString("item");
        Status status = concurrency == 1
                ? oneByOne(block, place, path, items, variable, before)
                : sideBySide(block, place, path, items, variable, concurrency, before);
        if (status instanceof Status.Done) {
            output(path, NODES.objectNode().put("count", items.size()));
        }
        return status;
    }

    private Status oneByOne(JsonNode block, Place place, String path, JsonNode items, String variable, Ends before) throws NotComputable {
        Ends ends = before;
        for (int i = 0; i < items.size(); i++) {
            Place inside = place.iteration(path, i).with(variable, items.get(i)).with("index", NODES.numberNode(i));
            Status status = blocks(block.path("body"), inside, ends);
            if (!(status instanceof Status.Done(Ends after))) {
                return status;
            }
            ends = after;
        }
        return new Status.Done(ends);
    }

    private Status sideBySide(
            JsonNode block, Place place, String path, JsonNode items, String variable, int concurrency, Ends before) throws NotComputable {
        List<Status> parts = new ArrayList<>();
        List<Integer> bounds = new ArrayList<>(List.of(facts.size()));
        boolean failed = false;
        int waiting = 0;
        // Those that wait for ever keep their places: when all are taken nothing more begins.
        for (int i = 0; i < items.size() && waiting < concurrency; i++) {
            Place inside = place.iteration(path, i).with(variable, items.get(i)).with("index", NODES.numberNode(i));
            Status status = blocks(block.path("body"), inside, before);
            bounds.add(facts.size());
            if (failed) {
                // An earlier one fails and is caught: whether this one had begun by then nobody can say, but if so it runs to its end.
                perhaps(bounds.get(i), bounds.get(i + 1));
                switch (status) {
                    case Status.Done(Ends ends) -> parts.add(new Status.Done(ends.perhaps()));
                    case Status.Failed(Ends ends, List<Error> errors) -> parts.add(new Status.Failed(ends.perhaps(), errors));
                    case Status.Stopped _, Status.Waiting _ -> throw new NotComputable("an item that may begin decides how it ends");
                }
            } else {
                parts.add(status);
            }
            failed |= place.caught && status instanceof Status.Failed;
            waiting += status instanceof Status.Waiting ? 1 : 0;
        }
        return joined(parts, bounds, place, before);
    }

    private Status loop(JsonNode block, Place place, String path, Ends before) throws NotComputable {
        boolean goesOn = block.path("continue_on_error").asBoolean(false);
        int most = block.path("max_iterations").asInt(1_000);
        Ends ends = before;
        for (int i = 0; i < most; i++) {
            String verdict = path + "[" + i + "]";
            Place inside = place.iteration(path, i).with("index", NODES.numberNode(i));
            try {
                if (!holds(block.path("condition"), i == 0 ? place : place.iteration(path, i - 1), verdict)) {
                    return looped(path, i, false, ends);
                }
            } catch (Formula.Failure e) {
                return failed(verdict, e.code, ends);
            }
            Status status = blocks(block.path("body"), goesOn ? inside.guarded() : inside, ends);
            switch (status) {
                case Status.Done(Ends after) -> ends = after;
                case Status.Failed(Ends after, List<Error> errors) when goesOn -> {
                    meet("went on after " + errors.getFirst().code());
                    ends = after;
                }
                default -> {
                    return status;
                }
            }
            try {
                if (block.has("break_on") && holds(block.path("break_on"), inside, inside.prefix + "$break")) {
                    return looped(path, i + 1, false, ends);
                }
            } catch (Formula.Failure e) {
                return failed(inside.prefix + "$break", e.code, ends);
            }
        }
        return looped(path, most, true, ends);
    }

    private Status looped(String path, int iterations, boolean exhausted, Ends ends) {
        output(path, NODES.objectNode().put("iterations", iterations).put("exhausted", exhausted));
        return new Status.Done(ends);
    }
}

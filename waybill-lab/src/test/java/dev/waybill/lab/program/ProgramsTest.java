package dev.waybill.lab.program;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.definition.SequenceParser;
import dev.waybill.lab.program.Expected.Fact;
import dev.waybill.lab.program.Expected.Rigour;
import dev.waybill.store.Store;
import dev.waybill.store.memory.MemoryStore;
import dev.waybill.store.sqlite.SqliteConfig;
import dev.waybill.store.sqlite.SqliteStore;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Random programs on the real engine do what the independent interpreter says, and the comparison would notice if they did not. */
class ProgramsTest {
    private static final Options OPTIONS = Options.of(ProgramHandler.NAME, "lab://provider");
    private static final int AT_ONCE = 8;
    private static final long PAUSE_NANOS = 300_000;

    /** Every kind of block, handler and option that the engine knows, by the generator's own names. */
    private static final Set<String> FEATURES = Set.of(
            "parallel", "router", "try_catch", "catch", "finally", "for_each", "concurrency", "loop", "break_on", "continue_on_error", "poll_interval",
            "max_iterations of a loop", "max_iterations of a for_each", "retain_iterations", "collection that is no list", "transform", "set_state",
            "get_state", "merge_state", "delete_state", "noop", "log", "sleep", "assert", "fail", "read", "when", "delay", "retry", "retry refused",
            "retry of a pure step", "retries used up", "status map", "client_error_mode", "success_when", "output_schema of an effect",
            "output_schema of a pure step", "idempotency key", "undefined key", "labels", "receipt_id", "step on_unknown", "sequence on_unknown",
            "on_unknown fail", "template", "fallback", "expression", "unknown root", "unknown root of an effect", "input_schema", "error in catch",
            "loop over its own outputs");

    private static final Map<Long, Program> DRAWN = new ConcurrentHashMap<>();

    private static List<Program> programs(long from, long to) {
        return LongStream.range(from, to).mapToObj(seed -> DRAWN.computeIfAbsent(seed, it -> Program.of(it, OPTIONS))).toList();
    }

    /** What differs, by seed. */
    private static Map<Long, List<String>> differences(List<Program> programs, Function<InstantSource, Store> store) throws Exception {
        Map<Long, List<String>> differences = new LinkedHashMap<>();
        try (Bench bench = new Bench(store, PAUSE_NANOS); ExecutorService workers = Executors.newFixedThreadPool(AT_ONCE)) {
            Map<Program, Future<Actual>> runs = new LinkedHashMap<>();
            programs.forEach(program -> runs.put(program, workers.submit(() -> bench.run(program))));
            for (Map.Entry<Program, Future<Actual>> run : runs.entrySet()) {
                List<String> found = run.getKey().expected().check(run.getValue().get(), Rigour.EXACT);
                if (!found.isEmpty()) {
                    differences.put(run.getKey().seed(), found);
                }
            }
        }
        return differences;
    }

    @Test
    void randomProgramsOnTheMemoryStoreDoWhatTheInterpreterSays() throws Exception {
        assertThat(differences(programs(0, 150), MemoryStore::new)).isEmpty();
    }

    @Test
    void randomProgramsOnSqliteDoWhatTheInterpreterSays(@TempDir Path directory) throws Exception {
        assertThat(differences(programs(1_000, 1_030), clock -> new SqliteStore(SqliteConfig.of(directory.resolve("waybill.db")), clock))).isEmpty();
    }

    @Test
    void overTheSeedsEveryFeatureReactionAndEndingOccurs() {
        Set<String> met = new TreeSet<>();
        for (Program program : programs(0, 250)) {
            met.addAll(program.features());
            met.add("run " + program.expected().state());
        }
        for (Reaction reaction : Reaction.values()) {
            assertThat(met).contains(reaction.name());
        }
        assertThat(met).containsAll(FEATURES).contains("run completed", "run failed", "run waiting");
        assertThat(met).contains("read OK", "read BUSY", "read LOST", "read DECLINED", "complete DECLINED", "complete BUSY");
    }

    @Test
    void aSeedGivesTheSameProgramEverywhere() {
        for (Program program : programs(0, 50)) {
            Program again = Program.of(program.seed(), OPTIONS);
            assertThat(again.document()).isEqualTo(program.document());
            assertThat(again.expected()).isEqualTo(program.expected());
        }
    }

    @Test
    void everyProgramIsAValidSequence() {
        for (Program program : programs(0, 250)) {
            SequenceParser.parse(program.document(), "default", () -> new UUID(0, 1));
        }
        Options http = Options.of("http_request", "http://127.0.0.1:9").underFaults().ending();
        for (long seed = 0; seed < 100; seed++) {
            SequenceParser.parse(Program.of(seed, http).document(), "default", () -> new UUID(0, 1));
        }
    }

    // --- the comparison can fail -----------------------------------------------------------------------------------------------

    /** What an engine would show that did exactly what it must. */
    private static Actual perfect(Program program) {
        Expected expected = program.expected();
        Map<String, JsonNode> outputs = new LinkedHashMap<>();
        Map<String, Actual.Effect> effects = new LinkedHashMap<>();
        Map<String, Long> ends = new LinkedHashMap<>();
        List<Map.Entry<String, Fact>> left = new ArrayList<>(expected.facts().entrySet());
        // In an order that the edges allow.
        while (!left.isEmpty()) {
            Map.Entry<String, Fact> next = left.stream()
                    .filter(one -> ends.keySet().containsAll(one.getValue().after()) && ends.keySet().containsAll(one.getValue().behind()))
                    .findFirst().orElseThrow();
            left.remove(next);
            Fact fact = next.getValue();
            if (fact.output() != null) {
                outputs.put(next.getKey(), fact.output());
            }
            if (fact.effect()) {
                long begun = 10L * effects.size();
                ends.put(next.getKey(), begun + 5);
                effects.put(next.getKey(), new Actual.Effect(fact.attempts(), fact.applied(), fact.key(), begun, begun + 5));
            }
        }
        return new Actual(
                expected.state(), expected.output(), expected.errors().stream().findFirst().orElse(null), outputs, effects, expected.waits());
    }

    /** Every program in which the change changes something must be refused. */
    private static void refused(UnaryOperator<Actual> change) {
        int changed = 0;
        for (Program program : programs(0, 120)) {
            Actual perfect = perfect(program);
            assertThat(program.expected().check(perfect, Rigour.EXACT)).as("seed %d", program.seed()).isEmpty();
            Actual wrong = change.apply(perfect);
            if (!wrong.equals(perfect)) {
                changed++;
                assertThat(program.expected().check(wrong, Rigour.EXACT)).as("seed %d", program.seed()).isNotEmpty();
            }
        }
        assertThat(changed).isGreaterThan(3);
    }

    private static Actual with(Actual actual, Map<String, JsonNode> outputs, Map<String, Actual.Effect> effects) {
        return new Actual(actual.state(), actual.output(), actual.error(), outputs, effects, actual.waits());
    }

    /** The same change at the first effect that it changes. */
    private static UnaryOperator<Actual> effect(UnaryOperator<Actual.Effect> change) {
        return actual -> {
            Map<String, Actual.Effect> effects = new LinkedHashMap<>(actual.effects());
            for (Map.Entry<String, Actual.Effect> one : effects.entrySet()) {
                Actual.Effect other = change.apply(one.getValue());
                if (!other.equals(one.getValue())) {
                    one.setValue(other);
                    break;
                }
            }
            return with(actual, actual.outputs(), effects);
        };
    }

    @Test
    void anEffectBookedTwiceIsRefused() {
        refused(effect(it -> new Actual.Effect(it.states(), it.applied() + 1, it.key(), it.begun(), it.ended())));
    }

    @Test
    void aWrongStateOfAReceiptIsRefused() {
        refused(effect(it -> {
            List<String> states = new ArrayList<>(it.states());
            states.set(states.size() - 1, states.getLast().equals("committed") ? "not_applied" : "committed");
            return new Actual.Effect(states, it.applied(), it.key(), it.begun(), it.ended());
        }));
    }

    @Test
    void oneAttemptMoreIsRefused() {
        refused(effect(it -> {
            List<String> states = new ArrayList<>(it.states());
            states.add("committed");
            return new Actual.Effect(states, it.applied(), it.key(), it.begun(), it.ended());
        }));
    }

    @Test
    void anotherKeyIsRefused() {
        refused(effect(it -> new Actual.Effect(it.states(), it.applied(), "another", it.begun(), it.ended())));
    }

    @Test
    void anEffectThatNothingLeadsToIsRefused() {
        refused(actual -> {
            Map<String, Actual.Effect> effects = new LinkedHashMap<>(actual.effects());
            effects.put("stranger[0]/c1", new Actual.Effect(List.of("committed"), 1, null, 0L, 0L));
            return with(actual, actual.outputs(), effects);
        });
    }

    @Test
    void anEffectDispatchedBeforeWhatStandsBeforeItHasEndedIsRefused() {
        int changed = 0;
        for (Program program : programs(0, 120)) {
            Actual perfect = perfect(program);
            Map<String, Actual.Effect> effects = new LinkedHashMap<>(perfect.effects());
            String behind = effects.keySet().stream().filter(path -> !program.expected().facts().get(path).after().isEmpty()).findFirst().orElse(null);
            if (behind == null) {
                continue;
            }
            changed++;
            Actual.Effect effect = effects.get(behind);
            effects.put(behind, new Actual.Effect(effect.states(), effect.applied(), effect.key(), -1L, effect.ended()));
            assertThat(program.expected().check(with(perfect, perfect.outputs(), effects), Rigour.UNDER_FAULTS)).isNotEmpty();
        }
        assertThat(changed).isGreaterThan(20);
    }

    @Test
    void anEffectWithoutTheOneBeforeItIsRefused() {
        int changed = 0;
        for (Program program : programs(0, 120)) {
            Actual perfect = perfect(program);
            Map<String, Actual.Effect> effects = new LinkedHashMap<>(perfect.effects());
            String before = effects.keySet().stream().flatMap(path -> program.expected().facts().get(path).after().stream()).findFirst().orElse(null);
            if (before != null) {
                changed++;
                effects.remove(before);
                assertThat(program.expected().check(with(perfect, perfect.outputs(), effects), Rigour.UNDER_FAULTS)).isNotEmpty();
            }
        }
        assertThat(changed).isGreaterThan(20);
    }

    @Test
    void anotherOutputIsRefused() {
        refused(actual -> {
            Map<String, JsonNode> outputs = new LinkedHashMap<>(actual.outputs());
            outputs.entrySet().stream().findFirst().ifPresent(one -> one.setValue(changed(one.getValue())));
            return with(actual, outputs, actual.effects());
        });
    }

    @Test
    void attemptsThatACrashAddedAreAcceptedOnlyUnderFaults() {
        UnaryOperator<Actual> crash = effect(it -> {
            List<String> states = new ArrayList<>(it.states());
            states.addFirst("abandoned");
            return new Actual.Effect(states, it.applied(), it.key(), it.begun(), it.ended());
        });
        UnaryOperator<Actual> twice = effect(it -> {
            List<String> states = new ArrayList<>(it.states());
            states.addFirst("committed");
            return new Actual.Effect(states, it.applied(), it.key(), it.begun(), it.ended());
        });
        for (Program program : programs(0, 60)) {
            Actual perfect = perfect(program);
            if (perfect.effects().isEmpty()) {
                continue;
            }
            assertThat(program.expected().check(crash.apply(perfect), Rigour.UNDER_FAULTS)).isEmpty();
            assertThat(program.expected().check(crash.apply(perfect), Rigour.EXACT)).isNotEmpty();
            assertThat(program.expected().check(twice.apply(perfect), Rigour.UNDER_FAULTS)).isNotEmpty();
        }
    }

    private static JsonNode changed(JsonNode output) {
        ObjectNode changed = output instanceof ObjectNode object ? object.deepCopy() : JsonNodeFactory.instance.objectNode();
        return changed.put("one_more", 1);
    }

    @Test
    void anotherEndingIsRefused() {
        refused(actual -> new Actual(
                actual.state().equals("completed") ? "failed" : "completed", actual.output(), actual.error(), actual.outputs(), actual.effects(),
                actual.waits()));
        refused(actual -> actual.error() == null
                ? actual
                : new Actual(
                        actual.state(), actual.output(), new Expected.Error("ANOTHER", actual.error().path()), actual.outputs(), actual.effects(),
                        actual.waits()));
        refused(actual -> new Actual(
                actual.state(), actual.output(), actual.error(), actual.outputs(), actual.effects(),
                actual.state().equals("waiting") ? Set.of("timer somewhere") : actual.waits()));
    }

    /** What is in every history, and how it ends. */
    private static Expected sure(Expected expected) {
        Map<String, Fact> facts = new LinkedHashMap<>(expected.facts());
        facts.values().removeIf(fact -> fact.certainty() != Expected.Certainty.MUST);
        return new Expected(expected.state(), expected.output(), expected.errors(), facts, expected.waits());
    }

    @Test
    void aRunThatIsPausedAndResumedMeanwhileComesToTheSame() throws Exception {
        try (Bench bench = new Bench(MemoryStore::new, PAUSE_NANOS); ExecutorService workers = Executors.newFixedThreadPool(AT_ONCE)) {
            Map<Program, Future<Actual>> runs = new LinkedHashMap<>();
            programs(2_000, 2_050).forEach(program -> runs.put(program, workers.submit(() -> bench.run(program, 2))));
            for (Map.Entry<Program, Future<Actual>> run : runs.entrySet()) {
                assertThat(run.getKey().expected().check(run.getValue().get(), Rigour.EXACT)).as("seed %d", run.getKey().seed()).isEmpty();
            }
        }
    }

    @Test
    void anInterpreterThatReadsAnotherProgramIsRefusedByTheRealEngine() throws Exception {
        List<Program> wrong = new ArrayList<>();
        for (Program program : programs(0, 40)) {
            // The interpreter is told of other data than the engine.
            ObjectNode other = program.data().deepCopy();
            other.put("n", (program.data().path("n").asInt() + 3) % 10).put("m", (program.data().path("m").asInt() + 7) % 10);
            Expected expected = new Interpreter(program.document(), other, program.script(), 1_000).run();
            if (!sure(expected).equals(sure(program.expected()))) {
                wrong.add(new Program(
                        program.seed(), program.options(), program.document(), program.data(), program.script(), program.features(), expected));
            }
        }
        assertThat(wrong).hasSizeGreaterThan(10);
        Map<Long, List<String>> differences = differences(wrong, MemoryStore::new);
        assertThat(differences).hasSize(wrong.size());
    }
}

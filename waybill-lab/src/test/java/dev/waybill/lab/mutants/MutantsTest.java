package dev.waybill.lab.mutants;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.lab.mutants.Trials.Verdict;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A handful of cheap mutants; {@code ./waybill lab mutants} runs them all. */
class MutantsTest {
    @TempDir
    private Path directory;

    private Forge forge() {
        return new Forge(SourceTree.find(), directory);
    }

    private static Mutant mutant(String name, String... killers) {
        return Mutants.named(List.of(name)).getFirst().killedBy(killers);
    }

    @Test
    void everyMutantFitsTheEngineAndCompiles() {
        assertThat(Mutants.all()).extracting(Mutant::name).doesNotHaveDuplicates();
        new Trials(forge()).forge(Mutants.all());
    }

    @Test
    void aMutantWhosePlaceHasMovedIsLoud() {
        Mutant gone = Mutant.of("gone", "").with("engine.Turn#run", "this is nowhere in it", "");
        Mutant twice = Mutant.of("twice", "").with("engine.Turn#run", "engine.meter()", "");
        assertThatThrownBy(() -> new Trials(forge()).forge(List.of(gone, twice)))
                .hasMessageContaining("mutant gone no longer fits engine.Turn#run: its text is not there")
                .hasMessageContaining("mutant twice no longer fits engine.Turn#run: its text is there more than once");
    }

    @Test
    void cheapMutantsAreKilledAndAHarmlessOneIsSeenToSurvive() {
        Mutant harmless = Mutant.of("harmless", "nothing").with("engine.Ledger#checkIfSuspect", "if (!suspect) {", "if (suspect == false) {")
                .killedBy("engine.LedgerTest");
        List<Mutant> dead = List.of(
                mutant("settle-without-claim", "store.memory.MemoryStoreTest"),
                mutant("wake-seq-ignored", "store.memory.MemoryStoreTest"),
                mutant("ledger-not-compared", "engine.LedgerTest"),
                mutant("503-is-clean", "transport.HttpOutcomeTest"),
                mutant("hash-includes-secret", "engine.IdentityTest#aRotatedSecretIsTheSameRequest"));
        Trials trials = new Trials(forge());
        List<Mutant> all = new java.util.ArrayList<>(dead);
        all.add(harmless);
        trials.forge(all);
        trials.compileTests(all);
        for (Mutant mutant : dead) {
            assertThat(trials.byTests(mutant)).as(mutant.name()).returns(true, Verdict::killed);
        }
        assertThat(trials.byTests(harmless)).returns(false, Verdict::killed);
    }
}

package dev.waybill.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;

@ResourceLock(Resources.SYSTEM_PROPERTIES)
class FuzzTest {
    @Test
    void aFailingCaseIsShrunkToTheSmallestAndItsTextRepeatsIt() {
        List<List<Integer>> failed = new ArrayList<>();
        Fuzz.Property property = choices -> {
            List<Integer> list = new ArrayList<>();
            for (int left = choices.length(50); left > 0; left--) {
                list.add(choices.below(1_000));
            }
            if (list.stream().anyMatch(n -> n >= 300)) {
                failed.add(list);
                throw new IllegalStateException("a large number in " + list);
            }
        };
        AssertionError failure = org.assertj.core.api.Assertions.catchThrowableOfType(AssertionError.class, () -> Fuzz.check("shrinks", 1_000, property));
        assertThat(failure).hasMessageContaining("a large number in [300]");
        Matcher replay = Pattern.compile("-Dwaybill.fuzz.replay=(\\S+)").matcher(failure.getMessage());
        assertThat(replay.find()).isTrue();

        failed.clear();
        System.setProperty("waybill.fuzz.replay", replay.group(1));
        try {
            assertThatThrownBy(() -> Fuzz.check("shrinks", 1_000, property)).hasMessageContaining("still fails");
            Fuzz.check("another", 1_000, choices -> {
                throw new IllegalStateException("not asked for");
            });
        } finally {
            System.clearProperty("waybill.fuzz.replay");
        }
        assertThat(failed).containsExactly(List.of(300));
    }

    @Test
    void theSameSeedMakesTheSameCase() {
        byte[] seed = "{\"amount\": 12}".getBytes(StandardCharsets.UTF_8);
        for (long i = 0; i < 200; i++) {
            Choices choices = Choices.of(i);
            byte[] mutant = choices.mutate(seed, List.of("null"));
            assertThat(Choices.of(i).mutate(seed, List.of("null"))).isEqualTo(mutant);
            assertThat(Choices.of(choices.made()).mutate(seed, List.of("null"))).isEqualTo(mutant);
        }
    }

    @Test
    void workThatCostsTooMuchFails() {
        assertThatThrownBy(() -> Fuzz.within(60_000, 8, "garbage", () -> assertThat(new byte[16 << 20]).isNotEmpty()))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("garbage");
    }
}

package dev.waybill.json;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.test.Fuzz;
import java.util.Locale;
import org.junit.jupiter.api.Test;

class CaseMappingTest {
    @Test
    void wordsAreMappedAsTheJdkMapsThem() {
        Fuzz.check("case-mapping", 500, choices -> {
            StringBuilder text = new StringBuilder();
            for (int words = choices.length(60); words > 0; words--) {
                text.append(choices.text(12, true)).append(choices.pick(java.util.List.of("\u03a3 ", "\u00df", "\u0130 ", "A\u03a3. ", "\ud83d\ude00 ")));
            }
            assertThat(CaseMapping.upper(text.toString())).isEqualTo(text.toString().toUpperCase(Locale.ROOT));
            String spaced = text.toString().replaceAll("(\\S{1,60})\\S*", "$1");
            if (!Json.hasLoneSurrogate(spaced)) {
                assertThat(CaseMapping.lower(spaced)).isEqualTo(spaced.toLowerCase(Locale.ROOT));
            }
        });
    }

    @Test
    void aMegabyteOfLettersThatGrowIsLinear() throws Exception {
        String sharp = "\u00df".repeat(1 << 20);
        String dotted = "\u0130".repeat(1 << 20);
        Fuzz.within(10_000, 2_000, "letters that grow", () -> {
            assertThat(CaseMapping.upper(sharp)).hasSize(2 << 20);
            assertThat(CaseMapping.lower(dotted)).hasSize(2 << 20);
        });
    }
}

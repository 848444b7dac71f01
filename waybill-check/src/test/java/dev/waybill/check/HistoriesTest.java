package dev.waybill.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Good histories are accepted; a bad one, which is a good one with one lie, is refused by exactly the property it lies about. */
class HistoriesTest {

    @TestFactory
    Stream<DynamicTest> everyGoodHistoryIsAccepted() {
        return GoodTales.all().entrySet().stream()
                .map(good -> DynamicTest.dynamicTest(good.getKey(), () -> {
                    Report report = Report.of(good.getValue().get().history());
                    assertThat(report.violated()).as(report.text()).isEmpty();
                }));
    }

    @TestFactory
    Stream<DynamicTest> everyBadHistoryIsRefusedByExactlyTheIntendedProperty() {
        return BadTales.all().stream().map(bad -> DynamicTest.dynamicTest(bad.property() + ": " + bad.lie(), () -> {
            Tale tale = bad.from().get();
            assertThat(Report.of(tale.history()).violated()).as("before the lie").isEmpty();
            bad.change().accept(tale);
            Report report = Report.of(tale.history());
            assertThat(report.violated()).as(report.text()).containsExactly(bad.property());
            assertThat(report.text()).contains(bad.property() + ": ");
        }));
    }

    @Test
    void everyPropertyIsLiedAboutAtLeastOnceAndThereAreEnoughOfBoth() {
        assertThat(new TreeSet<>(BadTales.all().stream().map(BadTales.Bad::property).toList()))
                .isEqualTo(new TreeSet<>(Property.all().stream().map(Property::name).toList()));
        assertThat(BadTales.all()).hasSizeGreaterThanOrEqualTo(60);
        assertThat(GoodTales.all()).hasSizeGreaterThanOrEqualTo(20);
    }

    @Test
    void everyPropertyFindsSomethingToLookAtAmongTheGoodHistories() {
        Map<String, Supplier<Tale>> all = GoodTales.all();
        TreeSet<String> looked = new TreeSet<>();
        for (Supplier<Tale> tale : all.values()) {
            Report.of(tale.get().history()).results().stream()
                    .filter(result -> result.lookedAt() > 0)
                    .forEach(result -> looked.add(result.property().name()));
        }
        List<String> names = Property.all().stream().map(Property::name).toList();
        assertThat(looked).containsExactlyInAnyOrderElementsOf(names);
    }
}

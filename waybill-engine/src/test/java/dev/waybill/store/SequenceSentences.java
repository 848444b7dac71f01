package dev.waybill.store;

import static dev.waybill.store.StoreLab.TENANT;
import static dev.waybill.store.StoreLab.nextId;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

abstract class SequenceSentences extends StoreSentences {

    private static SequenceRow row(String namespace, String name, int version) {
        return new SequenceRow(nextId(), TENANT, namespace, name, version, false, "{\"name\":\"" + name + "\",\"v\":1.10}", null);
    }

    @Test
    void aVersionIsImmutable() {
        SequenceRow first = row("default", "order", 1);

        assertThat(store().sequences().insert(first)).isTrue();
        assertThat(store().sequences().insert(row("default", "order", 1))).isFalse();
        assertThat(store().sequences().insert(new SequenceRow(first.id(), TENANT, "default", "other", 1, false, "{}", null))).isFalse();
        SequenceRow kept = store().sequences().get(TENANT, first.id()).orElseThrow();
        assertThat(kept).usingRecursiveComparison().ignoringFields("createdAt").isEqualTo(first);
        assertThat(kept.createdAt()).isNotNull();
        assertThat(store().sequences().get("globex", first.id())).isEmpty();
        assertThat(store().sequences().insert(new SequenceRow(nextId(), "globex", "default", "order", 1, false, "{}", null))).isTrue();
        assertThat(store().sequences().insert(row("Default", "order", 1))).isTrue();
    }

    @Test
    void theNewestThatIsNotDeprecatedIsFoundByName() {
        SequenceRow one = row("default", "order", 1);
        SequenceRow two = row("default", "order", 2);
        SequenceRow ten = row("default", "order", 10);
        List.of(ten, one, two).forEach(store().sequences()::insert);

        assertThat(newest()).isEqualTo(10);
        assertThat(store().sequences().deprecate(TENANT, ten.id())).isTrue();
        assertThat(newest()).isEqualTo(2);
        assertThat(store().sequences().byName(TENANT, "default", "order", 10).orElseThrow().deprecated()).isTrue();
        assertThat(store().sequences().byName(TENANT, "default", "order", 3)).isEmpty();
        assertThat(store().sequences().versions(TENANT, "default", "order")).extracting(SequenceRow::version).containsExactly(10, 2, 1);
        assertThat(store().sequences().deprecate(TENANT, nextId())).isFalse();
        assertThat(store().sequences().deprecate("globex", two.id())).isFalse();
        store().sequences().deprecate(TENANT, two.id());
        store().sequences().deprecate(TENANT, one.id());
        assertThat(store().sequences().byName(TENANT, "default", "order", null)).isEmpty();
    }

    private int newest() {
        return store().sequences().byName(TENANT, "default", "order", null).orElseThrow().version();
    }

    @Test
    void sequencesAreListedInPages() {
        List.of(row("b", "x", 1), row("a", "y", 1), row("a", "y", 2), row("a", "Z", 1), row("b", "a", 1))
                .forEach(store().sequences()::insert);
        store().sequences().insert(new SequenceRow(nextId(), "globex", "a", "a", 1, false, "{}", null));

        List<String> seen = new ArrayList<>();
        UUID after = null;
        List<SequenceRow> page;
        do {
            page = store().sequences().list(TENANT, after, 2);
            page.forEach(row -> seen.add(row.namespace() + "/" + row.name() + "/" + row.version()));
            after = page.isEmpty() ? null : page.getLast().id();
        } while (page.size() == 2);

        assertThat(seen).containsExactly("a/Z/1", "a/y/2", "a/y/1", "b/a/1", "b/x/1");
        assertThat(store().sequences().list(TENANT, null, 100)).hasSize(5);
    }
}

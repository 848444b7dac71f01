package dev.waybill.store;

import static dev.waybill.store.StoreLab.TENANT;
import static dev.waybill.store.StoreLab.nextId;
import static dev.waybill.store.StoreLab.nextKey;
import static dev.waybill.store.StoreLab.start;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.Queries.InstanceFilter;
import dev.waybill.store.StoreLab.Owned;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

abstract class QuerySentences extends StoreSentences {

    /** An effect filter with one thing set at a time. */
    private static final class Find {
        boolean openOnly;
        Set<EffectState> states = Set.of();
        InstanceKey instance;
        UUID execution;
        String word;
        UUID id;
        String block;
        String requestSha256;
        String fingerprint;
        String idempotencyKey;
        String providerReceiptId;
        Long epoch;
        Integer attempt;
        String label;
        Instant from;
        Instant to;
        String after;
        int limit = 100;

        EffectFilter filter(String tenant) {
            return new EffectFilter(
                    tenant, openOnly, states, instance, execution, word, id, block, requestSha256, fingerprint, idempotencyKey,
                    providerReceiptId, epoch, attempt, label, from, to, after, limit);
        }
    }

    private List<String> find(java.util.function.Consumer<Find> wanted) {
        return views(wanted).stream().map(view -> view.receipt().path() + "#" + view.receipt().attempt()).toList();
    }

    private List<EffectView> views(java.util.function.Consumer<Find> wanted) {
        Find find = new Find();
        wanted.accept(find);
        return store().queries().effects(find.filter(TENANT));
    }

    private Owned ledger() {
        Owned owned = lab().owned(lab().node());
        owned.commit(owned.move().intent("charge", 0));
        owned.commit(owned.move().intent("ship", 0));
        owned.commit(owned.move().unknown("charge", 0, 1));
        owned.commit(owned.move().committed("ship", 0, 1));
        owned.commit(owned.move().prepared("work", 0));
        owned.commit(owned.move().intent("charge", 1));
        owned.commit(owned.move().intent("fetch", 0));
        owned.commit(owned.move().outputLost("fetch", 0, 1));
        return owned;
    }

    @Test
    void effectsAreNewestFirstWithTheirState() {
        Owned owned = ledger();
        lab().owned(owned.node()).dispatched("elsewhere");

        List<EffectView> all = views(find -> find.instance = owned.key());

        assertThat(all).extracting(view -> view.receipt().path() + "#" + view.receipt().attempt() + " " + view.state().wire())
                .containsExactly("fetch#0 committed", "charge#1 dispatched", "work#0 prepared", "ship#0 committed", "charge#0 unknown");
        EffectView charge = all.getLast();
        assertThat(charge.instance()).isEqualTo(owned.key());
        assertThat(charge.last().reason()).isEqualTo("timeout");
        assertThat(charge.since()).isEqualTo(charge.last().at()).isAfterOrEqualTo(charge.receipt().at());
        assertThat(all.get(1).last()).isNull();
        assertThat(all.get(1).since()).isEqualTo(all.get(1).receipt().at());
        assertThat(all.getFirst().last().reply().status()).isEqualTo(200);
        assertThat(all.getFirst().last().reply().body()).isNull();
        assertThat(store().queries().effects(new Find().filter("globex"))).isEmpty();
        assertThat(find(find -> {})).hasSize(6);
    }

    @Test
    void anEffectIsFoundById() {
        Owned owned = ledger();
        UUID id = owned.load().receipts().getFirst().id();

        assertThat(store().queries().effect(TENANT, id).orElseThrow().receipt().path()).isEqualTo("charge");
        assertThat(store().queries().effect("globex", id)).isEmpty();
        assertThat(store().queries().effect(TENANT, nextId())).isEmpty();
    }

    @Test
    void effectsAreFoundByEveryField() {
        Owned owned = ledger();
        ReceiptRow charge = owned.load().receipts().getFirst();
        Instant cut = owned.load().receipts().get(2).at();
        lab().owned(owned.node()).dispatched("charge");
        InstanceKey mine = owned.key();

        assertThat(find(find -> find.openOnly = true)).containsExactly("fetch#0", "work#0", "charge#0");
        assertThat(find(find -> find.states = Set.of(EffectState.UNKNOWN))).containsExactly("charge#0");
        assertThat(find(find -> find.states = Set.of(EffectState.UNKNOWN, EffectState.PREPARED))).containsExactly("work#0", "charge#0");
        assertThat(find(find -> find.states = Set.of(EffectState.COMMITTED))).containsExactly("fetch#0", "ship#0");
        assertThat(find(find -> find.execution = mine.id())).hasSize(5);
        assertThat(find(find -> find.id = charge.id())).containsExactly("charge#0");
        assertThat(find(find -> find.idempotencyKey = charge.idempotencyKey())).containsExactly("charge#1", "charge#0");
        assertThat(find(find -> find.providerReceiptId = "pi_ship")).containsExactly("ship#0");
        assertThat(find(find -> {
                    find.instance = mine;
                    find.block = "charge";
                }))
                .containsExactly("charge#1", "charge#0");
        assertThat(find(find -> {
                    find.instance = mine;
                    find.requestSha256 = charge.requestSha256();
                    find.attempt = 1;
                }))
                .containsExactly("charge#1");
        assertThat(find(find -> {
                    find.openOnly = true;
                    find.fingerprint = charge.destinationFingerprint();
                }))
                .containsExactly("charge#0");
        assertThat(find(find -> {
                    find.openOnly = true;
                    find.label = "A-charge";
                }))
                .containsExactly("charge#0");
        assertThat(find(find -> {
                    find.instance = mine;
                    find.label = "4200";
                }))
                .containsExactly("fetch#0", "charge#1", "ship#0", "charge#0");
        assertThat(find(find -> {
                    find.instance = mine;
                    find.epoch = 1L;
                    find.limit = 2;
                }))
                .containsExactly("fetch#0", "charge#1");
        assertThat(find(find -> {
                    find.instance = mine;
                    find.epoch = 2L;
                }))
                .isEmpty();
        assertThat(find(find -> {
                    find.instance = mine;
                    find.from = cut;
                }))
                .contains("fetch#0", "work#0").doesNotContain("charge#0");
        assertThat(find(find -> {
                    find.instance = mine;
                    find.to = cut;
                }))
                .containsExactly("ship#0", "charge#0");
    }

    @Test
    void oneWordFindsAnEffectByAnyName() {
        Owned owned = ledger();
        ReceiptRow charge = owned.load().receipts().getFirst();

        for (String name : List.of(charge.id().toString(), "pi_ship")) {
            assertThat(find(find -> find.word = name)).hasSize(1);
        }
        assertThat(find(find -> find.word = charge.idempotencyKey())).containsExactly("charge#1", "charge#0");
        for (String word : List.of(charge.requestSha256(), charge.destinationFingerprint(), "charge", "A-charge")) {
            assertThat(find(find -> {
                        find.openOnly = true;
                        find.word = word;
                    }))
                    .containsExactly("charge#0");
            assertThat(find(find -> find.word = word)).isEmpty();
            assertThat(find(find -> {
                        find.instance = owned.key();
                        find.word = word;
                    }))
                    .containsExactly("charge#1", "charge#0");
        }
        assertThat(find(find -> find.word = "nothing")).isEmpty();
    }

    @Test
    void aSearchThatWouldReadEverythingIsRefused() {
        assertThatThrownBy(() -> find(find -> find.label = "A-1"))
                .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("FILTER_TOO_WIDE"));
        assertThatThrownBy(() -> find(find -> {
                    find.states = Set.of(EffectState.COMMITTED);
                    find.requestSha256 = "beef";
                }))
                .isInstanceOf(WaybillException.class);
    }

    @Test
    void pagesOfEffectsHaveNoGapsAndNoRepeats() {
        UUID node = lab().node();
        Owned owned = lab().owned(node);
        Move many = owned.move();
        for (int i = 0; i < 25; i++) {
            many.intent("items[" + i + "]/charge", 0);
        }
        owned.commit(many);
        Move unknown = owned.move();
        for (int i = 0; i < 25; i += 2) {
            unknown.unknown("items[" + i + "]/charge", 0, 1);
        }
        owned.commit(unknown);

        assertThat(paged(false, 4)).hasSize(25).doesNotHaveDuplicates().isEqualTo(paged(false, 100));
        assertThat(paged(true, 3)).hasSize(13).doesNotHaveDuplicates().isEqualTo(paged(true, 100));
    }

    private List<UUID> paged(boolean openOnly, int limit) {
        List<UUID> ids = new ArrayList<>();
        String[] after = {null};
        List<EffectView> page;
        do {
            page = views(find -> {
                find.openOnly = openOnly;
                find.after = after[0];
                find.limit = limit;
            });
            page.forEach(view -> ids.add(view.receipt().id()));
            after[0] = page.isEmpty() ? null : page.getLast().cursor();
        } while (page.size() == limit);
        return ids;
    }

    @Test
    void theQueueIsCountedByKindDestinationAndState() {
        Owned owned = ledger();
        Owned second = lab().owned(owned.node()).unknown("charge");

        List<Queries.OpenDepth> depths = store().queries().openDepth();

        assertThat(depths).extracting(depth -> depth.kind() + " " + depth.state() + " " + depth.depth())
                .containsExactly("http output_lost 1", "http prepared 1", "http unknown 2");
        assertThat(depths.getFirst().tenant()).isEqualTo(TENANT);
        assertThat(depths.getFirst().destination()).isEqualTo("http_request https://pay.example");
        Instant first = store().queries().journal(owned.key(), "charge", 0).getFirst().at();
        assertThat(depths.getLast().oldest()).isEqualTo(first);
        assertThat(second.load().journal().getFirst().at()).isAfterOrEqualTo(first);
    }

    @Test
    void anUnknownEffectIsEscalatedOnceForEachThresholdAndNotWhenItIsUnknownNoMore() {
        Owned owned = ledger();
        var effect = store().queries().unknownEffects().getFirst();
        assertThat(store().queries().unknownEffects()).hasSize(1);
        assertThat(effect.instance()).isEqualTo(owned.key());
        org.assertj.core.api.Assumptions.assumeThat(store().escalations()).isPresent();
        EscalationStore escalations = store().escalations().orElseThrow();
        String before = store().queries().newestChange();

        assertThat(escalations.escalate(effect, "age:PT1H", "{\"n\":1}")).isTrue();
        assertThat(escalations.escalate(effect, "age:PT1H", "{\"n\":2}")).isFalse();
        assertThat(escalations.escalate(effect, "age:PT2H", "{\"n\":3}")).isTrue();
        var elsewhere = new Queries.OpenEffect(
                effect.instance(), effect.id(), "nowhere", 0, effect.kind(), effect.destination(), effect.since(), null);
        assertThat(escalations.escalate(elsewhere, "age:PT3H", "{}")).isFalse();
        assertThat(store().queries().changes(TENANT, before, 10))
                .extracting(it -> it.type() + " " + it.subject() + " " + it.payload())
                .containsExactly("effect.escalated " + effect.id() + " {\"n\":1}", "effect.escalated " + effect.id() + " {\"n\":3}");
    }

    @Test
    void instancesAreListedNewestFirstAndFiltered() {
        UUID node = lab().node();
        InstanceKey billing = nextKey();
        InstanceKey shipping = nextKey();
        store().start(nextId(), List.of(
                start(billing, 1, 0, "{}", "{\"team\":\"billing\",\"n\":7,\"urgent\":true,\"$x.y\\\"\":\"odd\"}"),
                start(shipping, 1, 0, "{}", "{\"team\":\"shipping\",\"nested\":{\"team\":\"billing\"},\"none\":null}")));
        Owned running = lab().owned(node);
        store().start(nextId(), List.of(start(new InstanceKey("globex", nextId()))));

        assertThat(list(Set.of(), Map.of(), null, 10, 0)).containsExactly(running.key(), shipping, billing);
        assertThat(list(Set.of(), Map.of(), null, 2, 1)).containsExactly(shipping, billing);
        assertThat(list(Set.of(), Map.of(), shipping.id(), 10, 0)).containsExactly(billing);
        assertThat(list(Set.of(InstanceState.RUNNING, InstanceState.FAILED), Map.of(), null, 10, 0)).containsExactly(running.key());
        assertThat(list(Set.of(), Map.of("team", "billing"), null, 10, 0)).containsExactly(billing);
        assertThat(list(Set.of(), Map.of("team", "billing", "n", "7", "urgent", "true", "$x.y\"", "odd"), null, 10, 0))
                .containsExactly(billing);
        assertThat(list(Set.of(), Map.of("team", "billing", "n", "8"), null, 10, 0)).isEmpty();
        assertThat(list(Set.of(), Map.of("none", "null"), null, 10, 0)).isEmpty();
        assertThat(store().queries().instances(new InstanceFilter(TENANT, Set.of(), nextId(), Map.of(), null, 10, 0))).isEmpty();
        assertThat(store().queries().instances(new InstanceFilter(TENANT, Set.of(), StoreLab.NO_NONCE, Map.of(), null, 10, 0))).hasSize(3);
        assertThat(store().queries().instances(new InstanceFilter(TENANT, Set.of(), null, Map.of(), null, 1, 0)).getFirst())
                .isEqualTo(lab().record(running.key()));
    }

    @Test
    void theEnginesOwnSweepSeesEveryTenant() {
        InstanceKey ours = lab().scheduled();
        InstanceKey theirs = new InstanceKey("zenith", StoreLab.nextId());
        store().start(StoreLab.nextId(), List.of(StoreLab.start(theirs)));
        assertThat(store().queries()
                        .instances(new InstanceFilter(InstanceFilter.ALL_TENANTS, Set.of(InstanceState.SCHEDULED), null, Map.of(), null, 100, 0)))
                .extracting(record -> record.key())
                .contains(ours, theirs);
    }

    private List<InstanceKey> list(Set<InstanceState> states, Map<String, String> metadata, UUID after, int limit, int offset) {
        return store().queries().instances(new InstanceFilter(TENANT, states, null, metadata, after, limit, offset)).stream()
                .map(InstanceRecord::key)
                .toList();
    }

    @Test
    void aCaseFileHoldsEveryMoveAndEveryRow() {
        Owned owned = lab().owned(lab().node()).unknown("charge");
        owned.commit(owned.move().block("loop", 0, BlockRow.Kind.FRAME, "0").block("a", 0, BlockRow.Kind.OUTPUT, "1"));
        owned.commit(owned.move().block("loop", 1, BlockRow.Kind.FRAME, "1"));
        Move resolve = Move.outside(owned.key());
        applied(outside(resolve.settle(
                        resolve.row("charge", 0, 2, EffectState.UNKNOWN, EffectState.COMMITTED, "pi_9", "{\"ok\":1}", OutputState.SAVED))
                .evidence("charge", 0, "note", null)));

        List<JournalRow> moves = store().queries().journal(owned.key(), "charge", 0);
        assertThat(moves).extracting(JournalRow::to).containsExactly(EffectState.UNKNOWN, EffectState.COMMITTED);
        assertThat(moves.getLast().reply().body()).isNotEmpty();
        assertThat(moves.getLast().output()).isEqualTo("{\"ok\":1}");
        assertThat(store().queries().evidence(owned.key(), "charge", 0)).hasSize(1);
        assertThat(store().queries().blockRows(owned.key())).extracting(row -> row.path() + "/" + row.n())
                .containsExactly("a/0", "loop/0", "loop/1");
        assertThat(store().queries().journal(nextKey(), "charge", 0)).isEmpty();
    }

    @Test
    void proposalsAreFoundByTheirKindNewestFirstWithTheirReceiptAndWithoutBytes() {
        Owned owned = lab().owned(lab().node()).unknown("charge");
        for (int i = 0; i < 3; i++) {
            applied(outside(Move.outside(owned.key()).evidence("charge", 0, "proposal", new byte[] {(byte) i})));
            applied(outside(Move.outside(owned.key()).evidence("charge", 0, "note", null)));
        }

        List<DeskStore.FoundEvidence> found = store().desk().evidenceOfKind(TENANT, "proposal", 2);
        assertThat(found).hasSize(2).allSatisfy(one -> {
            assertThat(one.instance()).isEqualTo(owned.key());
            assertThat(one.receipt()).isEqualTo(owned.load().receipts().getFirst().id());
            assertThat(one.row().kind()).isEqualTo("proposal");
            assertThat(one.row().bytes()).isNull();
        });
        assertThat(found.getFirst().row().at()).isAfterOrEqualTo(found.getLast().row().at());
        assertThat(store().desk().evidenceOfKind("globex", "proposal", 2)).isEmpty();
    }

    @Test
    void aValueIsKeptOnce() {
        assertThat(store().desk().keepOnce("a-key", "first")).isEqualTo("first");
        assertThat(store().desk().keepOnce("a-key", "second")).isEqualTo("first");
        assertThat(store().desk().keepOnce("another", "second")).isEqualTo("second");
    }

    @Test
    void changesAreReadInPagesByTenant() {
        assertThat(store().queries().newestChange()).isNull();
        assertThat(store().queries().changes(TENANT, null, 10)).isEmpty();
        UUID node = lab().node();
        Owned owned = lab().owned(node);
        for (int i = 0; i < 7; i++) {
            owned.commit(owned.move().event("e" + i));
        }
        InstanceKey stranger = new InstanceKey("globex", nextId());
        store().start(node, List.of(start(stranger)));
        applied(outside(Move.outside(stranger).event("foreign")));

        List<Queries.Change> first = store().queries().changes(TENANT, null, 4);
        List<Queries.Change> second = store().queries().changes(TENANT, first.getLast().cursor(), 4);
        assertThat(first).extracting(Queries.Change::type).containsExactly("e0", "e1", "e2", "e3");
        assertThat(second).extracting(Queries.Change::type).containsExactly("e4", "e5", "e6");
        assertThat(first.getFirst().instance()).isEqualTo(owned.key());
        assertThat(first.getFirst().payload()).isEqualTo("{\"n\":1}");
        assertThat(first.getFirst().subject()).isNull();
        assertThat(store().queries().changes(null, null, 100)).hasSize(8);
        String newest = store().queries().newestChange();
        assertThat(newest).isNotNull();
        assertThat(store().queries().changes(null, newest, 100)).isEmpty();
        owned.commit(owned.move().event("later"));
        assertThat(store().queries().changes(null, newest, 100)).extracting(Queries.Change::type).containsExactly("later");
    }

    @Test
    void aCursorNeverSkipsAChangeOfAConcurrentWriter() throws Exception {
        UUID node = lab().node();
        int writers = 4;
        int moves = 60;
        List<String> expected = new ArrayList<>();
        List<Future<?>> running = new ArrayList<>();
        List<String> seen = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int w = 0; w < writers; w++) {
                Owned owned = lab().owned(node);
                Store handle = w % 2 == 0 ? store() : lab().other();
                for (int i = 0; i < moves; i++) {
                    expected.add(owned.key().id() + " " + i);
                }
                running.add(threads.submit(() -> {
                    for (int i = 0; i < moves; i++) {
                        handle.commit(node, List.of(owned.move().event("e" + i).commit()), false);
                    }
                }));
            }
            String after = null;
            boolean writing;
            do {
                writing = running.stream().anyMatch(future -> !future.isDone());
                List<Queries.Change> page = store().queries().changes(null, after, 7);
                while (!page.isEmpty()) {
                    page.forEach(change -> seen.add(change.instance().id() + " " + change.type().substring(1)));
                    after = page.getLast().cursor();
                    page = store().queries().changes(null, after, 7);
                }
                Thread.yield();
            } while (writing);
        }
        for (Future<?> future : running) {
            future.get();
        }
        assertThat(seen).hasSize(expected.size()).containsExactlyInAnyOrderElementsOf(expected);
        Map<String, List<String>> byInstance = seen.stream()
                .collect(java.util.stream.Collectors.groupingBy(line -> line.substring(0, 36)));
        byInstance.forEach((id, lines) -> assertThat(lines).containsExactlyElementsOf(
                expected.stream().filter(line -> line.startsWith(id)).toList()));
    }

    @Test
    void theAuditIsReadNewestFirst() {
        InstanceKey key = lab().scheduled();
        for (String action : List.of("run.pause", "run.resume", "run.cancel")) {
            applied(outside(Move.outside(key).audit(action, action.equals("run.resume") ? "other" : "run-1")));
        }

        assertThat(store().queries().audit(TENANT, null, 10)).extracting(entry -> entry.row().action())
                .containsExactly("run.cancel", "run.resume", "run.pause");
        assertThat(store().queries().audit(TENANT, "run-1", 10)).extracting(entry -> entry.row().action())
                .containsExactly("run.cancel", "run.pause");
        assertThat(store().queries().audit(TENANT, null, 1)).hasSize(1);
        assertThat(store().queries().audit("globex", null, 10)).isEmpty();
    }

    @Test
    void nodesAreListedInOrderOfStart() {
        UUID first = lab().node();
        UUID second = lab().node();
        store().fence(first);

        assertThat(store().queries().nodes()).extracting(Queries.NodeView::node).containsExactly(first, second);
        assertThat(store().queries().nodes()).extracting(Queries.NodeView::fenced).containsExactly(true, false);
    }
}

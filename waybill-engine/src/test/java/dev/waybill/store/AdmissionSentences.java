package dev.waybill.store;

import static dev.waybill.store.StoreLab.nextId;
import static dev.waybill.store.StoreLab.nextKey;
import static dev.waybill.store.StoreLab.start;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.Claim;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

abstract class AdmissionSentences extends StoreSentences {

    @Test
    void anUnkeyedStartCreatesAScheduledInstance() {
        InstanceKey key = nextKey();
        Start start = start(key, 2, 0, "{\"data\":{\"a\":1}}", "{\"team\":\"billing\"}");

        StartAnswer answer = store().start(nextId(), List.of(start)).getFirst();

        assertThat(answer).isInstanceOfSatisfying(StartAnswer.Created.class, created -> assertThat(created.claimed()).isFalse());
        InstanceRecord record = lab().record(key);
        assertThat(record.state()).isEqualTo(InstanceState.SCHEDULED);
        assertThat(record.claim()).isEqualTo(new Claim(0, StoreLab.NO_NONCE));
        assertThat(record.claimNode()).isNull();
        assertThat(record.nextFireAt()).isEqualTo(record.createdAt());
        assertThat(record.execution()).isEqualTo(key.id());
        assertThat(record.namespace()).isEqualTo("default");
        assertThat(record.priority()).isEqualTo(2);
        assertThat(record.context()).isEqualTo("{\"data\":{\"a\":1}}");
        assertThat(record.metadata()).isEqualTo("{\"team\":\"billing\"}");
        assertThat(record.wakeSeq()).isZero();
        assertThat(record.takeovers()).isZero();
    }

    @Test
    void aRepeatedKeyGivesTheFirstInstanceAndTheFirstPayload() {
        InstanceKey first = nextKey();
        InstanceKey second = nextKey();
        store().start(nextId(), List.of(start(first, "order-1", "hash-1", null)));

        StartAnswer answer = store().start(nextId(), List.of(start(second, "order-1", "hash-2", null))).getFirst();

        assertThat(answer).isEqualTo(new StartAnswer.Existing(first.id(), "hash-1"));
        assertThat(store().load(second)).isEmpty();
        assertThat(lab().record(first).dedupKey()).isEqualTo("order-1");
    }

    @Test
    void aKeyIsOfOneTenantAndOneScopeAndComparedExactly() {
        InstanceKey stranger = new InstanceKey("globex", nextId());
        InstanceKey other = nextKey();
        Start otherScope = new Start(
                other, other.id(), nextId(), "default", 1, 0, "{}", null, "refunds", "order-1", "hash", null);

        List<StartAnswer> answers = store().start(nextId(), List.of(
                start(nextKey(), "order-1", "hash", null),
                start(stranger, "order-1", "hash", null),
                otherScope,
                start(nextKey(), "Order-1", "hash", null),
                start(nextKey(), "order-1 ", "hash", null),
                start(nextKey(), "é", "hash", null),
                start(nextKey(), "e\u0301", "hash", null)));

        assertThat(answers).hasSize(7).allMatch(answer -> answer instanceof StartAnswer.Created);
    }

    @Test
    void twoStartsWithOneKeyInOneBatchCreateOne() {
        InstanceKey first = nextKey();
        InstanceKey plain = nextKey();

        List<StartAnswer> answers = store().start(nextId(), List.of(
                start(first, "order-1", "hash-1", null), start(nextKey(), "order-1", "hash-1", null), start(plain)));

        assertThat(answers.get(0)).isInstanceOf(StartAnswer.Created.class);
        assertThat(answers.get(1)).isEqualTo(new StartAnswer.Existing(first.id(), "hash-1"));
        assertThat(answers.get(2)).isInstanceOf(StartAnswer.Created.class);
        assertThat(store().load(plain)).isPresent();
    }

    @Test
    void twentyConcurrentStartsWithOneKeyCreateOneInstance() throws Exception {
        List<InstanceKey> keys = new ArrayList<>();
        List<Future<StartAnswer>> answers = new ArrayList<>();
        CountDownLatch go = new CountDownLatch(1);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 20; i++) {
                InstanceKey key = nextKey();
                keys.add(key);
                Store handle = i % 2 == 0 ? store() : lab().other();
                answers.add(threads.submit(() -> {
                    go.await();
                    return handle.start(nextId(), List.of(start(key, "order-1", "hash", null))).getFirst();
                }));
            }
            go.countDown();
        }

        List<StartAnswer> got = new ArrayList<>();
        for (Future<StartAnswer> answer : answers) {
            got.add(answer.get());
        }
        int winner = -1;
        for (int i = 0; i < got.size(); i++) {
            winner = got.get(i) instanceof StartAnswer.Created ? i : winner;
        }
        UUID created = keys.get(winner).id();
        assertThat(got).filteredOn(answer -> answer instanceof StartAnswer.Created).hasSize(1);
        assertThat(got).filteredOn(answer -> answer.equals(new StartAnswer.Existing(created, "hash"))).hasSize(19);
        assertThat(keys).filteredOn(key -> store().load(key).isPresent()).hasSize(1);
    }

    @Test
    void anEagerStartIsClaimedAtOnce() {
        UUID node = lab().node();
        InstanceKey key = nextKey();
        Claim claim = new Claim(1, nextId());

        StartAnswer answer = store().start(node, List.of(start(key, null, null, claim))).getFirst();

        assertThat(answer).isInstanceOfSatisfying(StartAnswer.Created.class, created -> assertThat(created.claimed()).isTrue());
        InstanceRecord record = lab().record(key);
        assertThat(record.state()).isEqualTo(InstanceState.RUNNING);
        assertThat(record.claim()).isEqualTo(claim);
        assertThat(record.claimNode()).isEqualTo(node);
        assertThat(record.nextFireAt()).isNull();
        assertThat(claimed(lab().node(), 10)).isEmpty();
    }

    @Test
    void aFencedNodesEagerStartIsLeftToOthers() {
        UUID fenced = lab().node();
        store().fence(fenced);
        assertEagerStartIsLeftToOthers(fenced);
    }

    @Test
    void anExpiredOrUnknownNodesEagerStartIsLeftToOthers() {
        UUID expired = lab().node();
        lab().expireLease(expired);
        assertEagerStartIsLeftToOthers(expired);
        assertEagerStartIsLeftToOthers(nextId());
    }

    private void assertEagerStartIsLeftToOthers(UUID dead) {
        InstanceKey key = nextKey();

        StartAnswer answer = store().start(dead, List.of(start(key, null, null, new Claim(1, nextId())))).getFirst();

        assertThat(answer).isInstanceOfSatisfying(StartAnswer.Created.class, created -> assertThat(created.claimed()).isFalse());
        assertThat(lab().record(key).state()).isEqualTo(InstanceState.SCHEDULED);
        assertThat(claimed(lab().node(), 10)).containsExactly(key);
    }

    @Test
    void aRepeatedStartFindsItselfAndBurnsNoKey() {
        InstanceKey key = nextKey();
        store().start(nextId(), List.of(start(key)));

        assertThat(store().start(nextId(), List.of(start(key)))).containsExactly(new StartAnswer.Existing(key.id(), null));
        assertThat(store().start(nextId(), List.of(start(key, "order-9", "hash", null))))
                .containsExactly(new StartAnswer.Existing(key.id(), null));
        assertThat(store().start(nextId(), List.of(start(nextKey(), "order-9", "hash", null))).getFirst())
                .isInstanceOf(StartAnswer.Created.class);
    }

    @Test
    void aThousandStartsInOneBatchAreAnsweredInOrder() {
        InstanceKey known = nextKey();
        store().start(nextId(), List.of(start(known, "k-500", "first", null)));
        List<Start> batch = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            batch.add(start(nextKey(), "k-" + i, "later", null));
        }

        List<StartAnswer> answers = store().start(nextId(), batch);

        assertThat(answers).hasSize(1_000);
        assertThat(answers.get(500)).isEqualTo(new StartAnswer.Existing(known.id(), "first"));
        assertThat(answers).filteredOn(answer -> answer instanceof StartAnswer.Created).hasSize(999);
    }
}

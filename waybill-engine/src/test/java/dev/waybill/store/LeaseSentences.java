package dev.waybill.store;

import static dev.waybill.store.StoreLab.nextId;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.Claim;
import dev.waybill.model.InstanceState;
import dev.waybill.store.StoreLab.Owned;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

abstract class LeaseSentences extends StoreSentences {
    private static final Duration LEASE = Duration.ofMinutes(1);

    private Queries.NodeView view(UUID node) {
        return store().queries().nodes().stream().filter(one -> one.node().equals(node)).findFirst().orElseThrow();
    }

    @Test
    void aHeartbeatExtendsTheLease() {
        UUID node = nextId();
        store().registerNode(node, "n1", Duration.ofSeconds(1));
        Queries.NodeView before = view(node);

        assertThat(store().heartbeat(node, LEASE)).isTrue();

        assertThat(view(node).expiresAt()).isAfterOrEqualTo(before.expiresAt().plusSeconds(59));
        assertThat(view(node).name()).isEqualTo("n1");
        assertThat(view(node).startedAt()).isEqualTo(before.startedAt());
        assertThat(before.expiresAt()).isEqualTo(before.startedAt().plusSeconds(1));
    }

    @Test
    void aFencedOrUnknownNodesHeartbeatIsRefused() {
        UUID node = lab().node();
        store().fence(node);

        assertThat(store().heartbeat(node, LEASE)).isFalse();
        assertThat(store().heartbeat(nextId(), LEASE)).isFalse();
        assertThat(view(node).fenced()).isTrue();
        store().registerNode(node, "again", LEASE);
        assertThat(store().heartbeat(node, LEASE)).isFalse();
    }

    @Test
    void aLeaseThatRanOutButWasNotFencedComesBackToLife() {
        UUID node = lab().node();
        lab().expireLease(node);
        assertThat(claimed(node, 1)).isEmpty();

        assertThat(store().heartbeat(node, LEASE)).isTrue();
        lab().scheduled();
        assertThat(claimed(node, 1)).hasSize(1);
    }

    @Test
    void theClaimsOfAnExpiredNodeAreFreed() {
        UUID dead = lab().node();
        UUID live = lab().node();
        Owned lost = lab().owned(dead).dispatched("charge");
        Owned kept = lab().owned(live);
        lab().expireLease(dead);

        assertThat(store().fenceAndFree(10)).isEqualTo(1);

        InstanceRecord freed = lab().record(lost.key());
        assertThat(freed.state()).isEqualTo(InstanceState.SCHEDULED);
        assertThat(freed.claim()).isEqualTo(new Claim(2, StoreLab.NO_NONCE));
        assertThat(freed.claimNode()).isNull();
        assertThat(freed.nextFireAt()).isNotNull();
        assertThat(freed.takeovers()).isEqualTo(1);
        assertThat(freed.wakeSeq()).isZero();
        assertThat(view(dead).fenced()).isTrue();
        assertThat(lab().record(kept.key()).claim()).isEqualTo(kept.claim());
        assertThat(store().heartbeat(dead, LEASE)).isFalse();
        assertThat(store().heartbeat(live, LEASE)).isTrue();

        assertThat(lost.commit(lost.move().committed("charge", 0, 1))).isEqualTo(new CommitAnswer.ClaimLost());
        Owned next = lab().claim(live, lost.key());
        assertThat(next.claim().epoch()).isEqualTo(3);
        assertThat(lost.commit(lost.move().committed("charge", 0, 1))).isEqualTo(new CommitAnswer.ClaimLost());
        settled(next.commit(next.move().unknown("charge", 0, 1)));
    }

    @Test
    void aFencedNodesClaimsAreFreedAtOnce() {
        UUID node = lab().node();
        Owned owned = lab().owned(node);
        store().fence(node);

        assertThat(lab().record(owned.key()).claimNode()).isEqualTo(node);
        assertThat(store().fenceAndFree(10)).isEqualTo(1);
        assertThat(lab().record(owned.key()).claimNode()).isNull();
    }

    @Test
    void aLiveNodeIsNeverFreed() {
        Owned owned = lab().owned(lab().node());

        assertThat(store().fenceAndFree(10)).isZero();
        assertThat(lab().record(owned.key()).claim()).isEqualTo(owned.claim());
        assertThat(view(owned.node()).fenced()).isFalse();
    }

    @Test
    void claimsAreFreedInBoundedBatches() {
        UUID node = lab().node();
        List<Owned> all = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            all.add(lab().owned(node));
        }
        store().fence(node);

        assertThat(store().fenceAndFree(2)).isEqualTo(2);
        assertThat(store().fenceAndFree(2)).isEqualTo(2);
        assertThat(store().fenceAndFree(2)).isEqualTo(1);
        assertThat(store().fenceAndFree(2)).isZero();
        assertThat(claimed(lab().node(), 10)).containsExactlyInAnyOrderElementsOf(all.stream().map(Owned::key).toList());
    }

    @Test
    void whatADeadNodeReleasedIsNotATakeover() {
        UUID node = lab().node();
        Owned waiting = lab().owned(node).waiting();
        store().fence(node);

        assertThat(store().fenceAndFree(10)).isZero();
        assertThat(lab().record(waiting.key()).state()).isEqualTo(InstanceState.WAITING);
        assertThat(lab().record(waiting.key()).takeovers()).isZero();
    }

    @Test
    void aFenceOfAnUnknownNodeIsNothing() {
        store().fence(nextId());
        assertThat(store().queries().nodes()).isEmpty();
    }
}

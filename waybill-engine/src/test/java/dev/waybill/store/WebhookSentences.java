package dev.waybill.store;

import static dev.waybill.store.StoreLab.TENANT;
import static dev.waybill.store.StoreLab.nextId;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.waybill.store.WebhookStore.WebhookEndpoint;
import java.time.Duration;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

abstract class WebhookSentences extends StoreSentences {
    private static final Duration LEASE = Duration.ofMinutes(10);
    private final UUID id = nextId();
    private final UUID one = nextId();
    private final UUID two = nextId();
    private WebhookStore webhooks;

    @BeforeEach
    void add() {
        assumeThat(store().webhooks()).isPresent();
        webhooks = store().webhooks().orElseThrow();
        webhooks.add(TENANT, id, "https://hooks.example/in", Set.of("effect.unknown", "effect.resolved"), "whsec_a", "7");
    }

    private WebhookEndpoint row() {
        return webhooks.get(TENANT, id).orElseThrow();
    }

    @Test
    void anEndpointIsOfItsTenantAndShowsWhatItWasGiven() {
        assertThat(row().types()).containsExactlyInAnyOrder("effect.unknown", "effect.resolved");
        assertThat(row().cursor()).isEqualTo("7");
        assertThat(row().toString()).doesNotContain("whsec");
        assertThat(webhooks.get("globex", id)).isEmpty();
        assertThat(webhooks.list("globex")).isEmpty();
        assertThat(webhooks.remove("globex", id)).isFalse();
        assertThat(webhooks.list(TENANT)).hasSize(1);
        assertThat(webhooks.remove(TENANT, id)).isTrue();
        assertThat(webhooks.list(TENANT)).isEmpty();
    }

    @Test
    void oneSenderHoldsTheClaimAndMayExtendIt() {
        assertThat(webhooks.due()).hasSize(1);
        assertThat(webhooks.claim(TENANT, id, one, LEASE)).isPresent();
        assertThat(webhooks.claim(TENANT, id, one, LEASE)).isPresent();
        assertThat(webhooks.claim(TENANT, id, two, LEASE)).isEmpty();
        assertThat(webhooks.due()).isEmpty();
        webhooks.release(TENANT, id, two);
        assertThat(webhooks.claim(TENANT, id, two, LEASE)).isEmpty();
        webhooks.release(TENANT, id, one);
        assertThat(webhooks.claim(TENANT, id, two, LEASE)).isPresent();
    }

    @Test
    void whoLostTheClaimMovesNothingAnyMore() {
        assertThat(webhooks.claim(TENANT, id, one, Duration.ZERO)).isPresent();
        assertThat(webhooks.claim(TENANT, id, two, LEASE)).isPresent();
        assertThat(webhooks.advance(TENANT, id, one, "8", true)).isFalse();
        assertThat(webhooks.fail(TENANT, id, one, 500, "answered 500", null)).isFalse();
        assertThat(row().cursor()).isEqualTo("7");
        assertThat(row().parked()).isFalse();
        assertThat(webhooks.advance(TENANT, id, two, "8", true)).isTrue();
        assertThat(row().cursor()).isEqualTo("8");
    }

    @Test
    void failuresCountUpAndTheLastOneParksUntilARestart() {
        webhooks.claim(TENANT, id, one, LEASE);
        assertThat(webhooks.fail(TENANT, id, one, null, "unreachable", Duration.ZERO)).isTrue();
        webhooks.claim(TENANT, id, one, LEASE).orElseThrow();
        assertThat(webhooks.fail(TENANT, id, one, 503, "answered 503", null)).isTrue();
        assertThat(row().failures()).isEqualTo(2);
        assertThat(row().failingSince()).isNotNull();
        assertThat(row().lastStatus()).isEqualTo(503);
        assertThat(row().parked()).isTrue();
        assertThat(webhooks.due()).isEmpty();
        assertThat(webhooks.claim(TENANT, id, one, LEASE)).isEmpty();
        assertThat(webhooks.counts()).containsExactly(new WebhookStore.Parked(TENANT, 1, 0, 1));

        assertThat(webhooks.restart(TENANT, id, "9")).isTrue();
        assertThat(row().cursor()).isEqualTo("9");
        assertThat(row().failures()).isZero();
        webhooks.claim(TENANT, id, two, LEASE).orElseThrow();
        webhooks.fail(TENANT, id, two, 500, "answered 500", Duration.ofHours(1));
        assertThat(webhooks.due()).isEmpty();
        assertThat(webhooks.counts()).containsExactly(new WebhookStore.Parked(TENANT, 1, 1, 0));
    }

    @Test
    void aRotationKeepsTheSecretBeforeForAWhile() {
        assertThat(webhooks.rotate(TENANT, id, "whsec_b", LEASE)).isTrue();
        assertThat(row().secret()).isEqualTo("whsec_b");
        assertThat(row().previousSecret()).isEqualTo("whsec_a");
        assertThat(row().previousUntil()).isAfter(row().createdAt());
        assertThat(webhooks.rotate("globex", id, "whsec_c", LEASE)).isFalse();
    }
}

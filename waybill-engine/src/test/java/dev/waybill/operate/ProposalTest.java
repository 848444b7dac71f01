package dev.waybill.operate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.model.Claim;
import dev.waybill.model.EffectKind;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.operate.FourEyes.Rule;
import dev.waybill.operate.Proposal.Status;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.JournalRow;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.ReceiptRow;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a proposal is, worked out from rows alone; and which effects need one. */
class ProposalTest {
    private static final UUID ID = new UUID(1, 2);
    private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

    private static EffectView effect(int n, String labels) {
        ReceiptRow receipt = new ReceiptRow(
                ID, ID, "charge", 0, false, EffectKind.HTTP, "http_request", "http_request https://pay.example/charges", "f", null, "r", "{}",
                new Claim(1, ID), ID, ID, 0, null, null, labels, NOW, NOW);
        JournalRow last = new JournalRow(
                "charge", 0, n, EffectState.DISPATCHED, EffectState.UNKNOWN, "engine", null, ID, null, null, null, null, null, true, null, null,
                OutputState.NONE, null, NOW);
        return new EffectView(new InstanceKey("acme", ID), receipt, EffectState.UNKNOWN, last, NOW);
    }

    private static EvidenceRow proposal(Instant expires) {
        Resolution resolution = new Resolution(EffectState.VERIFIED, "seen", null, null, null, null, "operator:ann/x", null);
        return new EvidenceRow(
                "charge", 0, Proposal.KIND, "operator:ann/x",
                Json.write(Proposal.body(ID, resolution, Json.NODES.objectNode().put("state", "verified"), effect(1, null), List.of(), "r", expires)),
                null, NOW);
    }

    private static Status status(int n, Instant now, EvidenceRow... rows) {
        return Proposal.of(effect(n, null), List.of(rows), now).getFirst().status();
    }

    @Test
    void aProposalIsVoidOnceTheReceiptMovedAndOverOnceItsTimeIs() {
        EvidenceRow row = proposal(NOW.plusSeconds(60));
        EvidenceRow approval = new EvidenceRow(
                "charge", 0, Proposal.APPROVAL, "operator:bob", Json.write(Json.NODES.objectNode().put("proposal_id", ID.toString())), null, NOW);
        assertThat(status(1, NOW.plusSeconds(59), row)).isEqualTo(Status.PENDING);
        assertThat(status(1, NOW.plusSeconds(60), row)).isEqualTo(Status.EXPIRED);
        assertThat(status(2, NOW, row)).isEqualTo(Status.VOID);
        assertThat(status(2, NOW.plusSeconds(99), row, approval)).isEqualTo(Status.APPROVED);
        assertThat(Proposal.pending(effect(2, null), List.of(row), NOW)).isEmpty();
    }

    @Test
    void aPrincipalIsTheKeyAndNotTheNameThatACallerGivesItself() {
        assertThat(Proposal.principal("operator:ann/bob")).isEqualTo(Proposal.principal("operator:ann")).isNotEqualTo(Proposal.principal("operator:bob"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{\"amount\":1000}|false", "{\"amount\":\"1000.00\"}|false", "{\"amount\":1000.000000000000001}|true", "{\"amount\":\"1,000\"}|true",
        "{\"other\":1}|true", "{\"amount\":null}|true"
    })
    void whatCannotBeShownToBeBelowTheLimitIsAboveIt(String labels, boolean needsTwo) {
        Rule rule = new Rule("r", "acme", "http", "https://pay.example/*", "amount", new BigDecimal("1000"));
        assertThat(rule.fits(effect(1, labels))).isEqualTo(needsTwo);
        assertThat(new Rule("r", "other", null, null, null, null).fits(effect(1, labels))).isFalse();
        assertThat(new Rule("r", null, null, "https://pay.example/refunds", null, null).fits(effect(1, labels))).isFalse();
    }
}

package dev.waybill.store;

import static dev.waybill.store.StoreLab.nextKey;
import static dev.waybill.store.StoreLab.start;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.waybill.model.EffectKind;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Proof;
import dev.waybill.model.Reply;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.StoreLab.Owned;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

abstract class StorageSentences extends StoreSentences {

    @ParameterizedTest
    @ValueSource(strings = {"effect_receipts", "receipt_journal", "effect_evidence", "audit_log", "block_outputs"})
    void whatIsWrittenIsNeverChangedNorDeleted(String table) throws Exception {
        assumeTrue(lab().sql().isPresent(), "no SQL");
        StoreLab.Sql sql = lab().sql().orElseThrow();
        Owned owned = lab().owned(lab().node()).unknown("charge");
        owned.commit(owned.move().block("b", 0, BlockRow.Kind.OUTPUT, "1"));
        applied(outside(Move.outside(owned.key()).evidence("charge", 0, "note", null).audit("effect.note", "e")));

        assertThatThrownBy(() -> sql.execute("UPDATE " + table + " SET tenant_id = tenant_id")).isInstanceOf(Exception.class);
        assertThatThrownBy(() -> sql.execute("DELETE FROM " + table)).isInstanceOf(Exception.class);
        sql.execute("SELECT count(*) FROM " + table);
        assertThat(owned.load().receipts()).hasSize(1);
        assertThat(owned.load().journal()).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"big\":12345678901234567890123456789.000000000000000010,\"e\":1e400,\"one\":1.0,\"edge\":9007199254740993,\"z\":-0.0}",
                "{\"escaped\":\"\\u0000\\ud83d\",\"text\":\"line\\nnext\"}",
                "\"😀 é e\u0301 \u200d ﷽ \uFFFF \u2028 ' \\\" $1 ? :x %s\"",
                "\"\"",
                "{ \"spaces\" :  [ ] , \"dup\":1 }",
                "null",
                ""
            })
    void textIsKeptToTheLastCharacter(String text) {
        Owned owned = lab().owned(lab().node());
        Move move = owned.move();
        ReceiptRow base = StoreLab.receipt(owned.key(), owned.claim(), owned.node(), move.transition(), "charge", 0);
        ReceiptRow receipt = new ReceiptRow(
                base.id(), base.execution(), "charge", 0, false, EffectKind.CUSTOM, "tool_call", text, text, text, text, text,
                base.claim(), base.node(), base.transitionId(), 1, null, base.id(), null, null, null);
        owned.commit(move.intent(receipt).block("b", 0, BlockRow.Kind.OUTPUT, text));
        Move settle = owned.move();
        owned.commit(settle.settle(new JournalRow(
                "charge", 0, 1, EffectState.DISPATCHED, EffectState.COMMITTED, text, owned.claim(), settle.transition(), null, text, text,
                text, null, true, null, text, OutputState.SAVED, text, null)));

        InstanceSnapshot now = owned.load();
        ReceiptRow keptReceipt = now.receipts().getFirst();
        assertThat(keptReceipt.request()).isEqualTo(text);
        assertThat(keptReceipt.idempotencyKey()).isEqualTo(text);
        assertThat(keptReceipt.destination()).isEqualTo(text);
        assertThat(keptReceipt.resendOf()).isEqualTo(base.id());
        assertThat(keptReceipt.labels()).isNull();
        assertThat(keptReceipt.keyWindowMillis()).isNull();
        JournalRow keptMove = now.journal().getFirst();
        assertThat(List.of(
                        keptMove.actor(), keptMove.reason(), keptMove.message(), keptMove.providerReceiptId(), keptMove.output(),
                        keptMove.problem()))
                .containsOnly(text);
        assertThat(keptMove.reply()).isNull();
        assertThat(now.rows().getFirst().body()).isEqualTo(text);
    }

    @Test
    void aWholeReceiptAndItsMoveComeBackAsWritten() {
        Owned owned = lab().owned(lab().node());
        Move move = owned.move();
        ReceiptRow receipt = StoreLab.receipt(owned.key(), owned.claim(), owned.node(), move.transition(), "items[1]/charge", 3);
        owned.commit(move.intent(receipt));
        Move settle = owned.move();
        JournalRow row = new JournalRow(
                "items[1]/charge", 3, 2, EffectState.UNKNOWN, EffectState.NOT_APPLIED, "engine-late", owned.claim(), settle.transition(),
                Proof.REFUSED_BY_PROTOCOL, "status_429", "Too many", "req_1", 1_500L, false,
                new Reply(429, Map.of("retry-after", List.of("2"), "set-cookie", List.of("a=1", "b=2")), new byte[0], true), null,
                OutputState.NONE, "{\"code\":\"RATE_LIMITED\"}", null);
        JournalRow without = new JournalRow(
                "items[1]/charge", 3, 1, EffectState.DISPATCHED, EffectState.UNKNOWN, "operator:ada", null, settle.transition(), null, null,
                null, null, null, true, new Reply(0, Map.of(), null, false), null, OutputState.LOST, null, null);
        BlockRow timer = new BlockRow("wait", 0, BlockRow.Kind.TIMER, null, 86_400_000L, settle.transition(), null);
        owned.commit(settle.settle(without).settle(row).block(timer));

        InstanceSnapshot now = owned.load();
        assertThat(now.receipts().getFirst()).usingRecursiveComparison().ignoringFields("at", "quietAt").isEqualTo(receipt);
        assertThat(now.receipts().getFirst().quietAt()).isEqualTo(now.receipts().getFirst().at().plusMillis(60_000));
        List<JournalRow> journal = store().queries().journal(owned.key(), "items[1]/charge", 3);
        assertThat(journal).usingRecursiveFieldByFieldElementComparatorIgnoringFields("at").containsExactly(without, row);
        assertThat(now.rows().getFirst()).usingRecursiveComparison().ignoringFields("at").isEqualTo(timer);
        assertThat(store().queries().journal(owned.key(), "items[1]/charge", 2)).isEmpty();
    }

    @Test
    void repliesAreKeptAsBytes() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        byte[] body = new byte[70_000];
        for (int i = 0; i < body.length; i++) {
            body[i] = (byte) (i * 31);
        }
        Move settle = owned.move();
        owned.commit(settle.settle(new JournalRow(
                "charge", 0, 1, EffectState.DISPATCHED, EffectState.COMMITTED, "engine", owned.claim(), settle.transition(), null, null,
                null, null, null, true, new Reply(200, Map.of(), body, false), null, OutputState.UNUSABLE, null, null)));

        assertThat(store().queries().journal(owned.key(), "charge", 0).getFirst().reply().body()).isEqualTo(body);
        assertThat(owned.load().journal().getFirst().reply().body()).isNull();
    }

    @Test
    void longPathsAndNamesAreKept() {
        Owned owned = lab().owned(lab().node());
        String path = "outer[99999]/middle/😀/" + "x".repeat(2_000);

        owned.commit(owned.move().intent(path, Integer.MAX_VALUE).block(path, Integer.MAX_VALUE, BlockRow.Kind.FRAME, "{}"));

        assertThat(owned.load().receipts()).extracting(ReceiptRow::path).containsExactly(path);
        assertThat(owned.load().rows()).extracting(BlockRow::n).containsExactly(Integer.MAX_VALUE);
    }

    @Test
    void pathsAreToldApartExactly() {
        Owned owned = lab().owned(lab().node());
        List<String> paths = List.of("a", "A", "a ", "é", "e\u0301", "a/b", "a_b", "a%b");
        Move move = owned.move();
        paths.forEach(path -> move.intent(path, 0).block(path, 0, BlockRow.Kind.OUTPUT, "\"" + path + "\""));

        settled(owned.commit(move));

        assertThat(owned.load().receipts()).extracting(ReceiptRow::path).containsExactlyElementsOf(paths);
        assertThat(owned.load().rows()).hasSize(paths.size()).allSatisfy(
                row -> assertThat(row.body()).isEqualTo("\"" + row.path() + "\""));
        assertThat(owned.load().rows()).extracting(BlockRow::path)
                .containsExactly("A", "a", "a ", "a%b", "a/b", "a_b", "e\u0301", "é");
    }

    @Test
    void aMegabyteOfContextIsKept() {
        InstanceKey key = nextKey();
        String context = "{\"data\":\"" + "é".repeat(500_000) + "\"}";
        store().start(StoreLab.nextId(), List.of(start(key, 1, 0, context, null)));

        assertThat(lab().record(key).context()).isEqualTo(context);
    }

    @ParameterizedTest
    @EnumSource(value = EffectState.class, names = {"PLANNED", "PREPARED", "DISPATCHED"}, mode = EnumSource.Mode.EXCLUDE)
    void everyStateBehindDispatchedCanBeKept(EffectState state) {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        Move move = owned.move();
        EffectState from = EffectState.DISPATCHED;
        if (!from.canMoveTo(state)) {
            move.settle(move.row("charge", 0, 1, from, EffectState.UNKNOWN, null, null, OutputState.NONE));
            from = EffectState.UNKNOWN;
        }

        settled(owned.commit(move.settle(move.row("charge", 0, from == EffectState.UNKNOWN ? 2 : 1, from, state, null, null, OutputState.NONE))));

        UUID id = owned.load().receipts().getFirst().id();
        assertThat(store().queries().effect(StoreLab.TENANT, id).orElseThrow().state()).isEqualTo(state);
    }

    @ParameterizedTest
    @EnumSource(value = InstanceState.class, names = "RUNNING", mode = EnumSource.Mode.EXCLUDE)
    void everyStateOfAnInstanceCanBeKept(InstanceState state) {
        Owned owned = lab().owned(lab().node());

        owned.commit(owned.move().release(state, null, 0, "[]", "{}"));

        InstanceRecord record = lab().record(owned.key());
        assertThat(record.state()).isEqualTo(state);
        assertThat(record.reasons()).isEqualTo("[]");
        assertThat(record.outcome()).isEqualTo("{}");
        assertThat(record.nextFireAt()).isNull();
    }

    @ParameterizedTest
    @EnumSource(EffectKind.class)
    void everyKindOfEffectCanBeKept(EffectKind kind) {
        Owned owned = lab().owned(lab().node());
        Move move = owned.move();
        ReceiptRow base = StoreLab.receipt(owned.key(), owned.claim(), owned.node(), move.transition(), "x", 0);
        owned.commit(move.intent(new ReceiptRow(
                base.id(), base.execution(), "x", 0, false, kind, base.handler(), base.destination(), base.destinationFingerprint(), null,
                base.requestSha256(), base.request(), base.claim(), base.node(), base.transitionId(), 0, null, null, null, null, null)));

        assertThat(owned.load().receipts().getFirst().kind()).isEqualTo(kind);
    }

    @ParameterizedTest
    @EnumSource(BlockRow.Kind.class)
    void everyKindOfBlockRowCanBeKept(BlockRow.Kind kind) {
        Owned owned = lab().owned(lab().node());
        owned.commit(owned.move().block("x", 0, kind, null));

        assertThat(owned.load().rows().getFirst().kind()).isEqualTo(kind);
    }

    @ParameterizedTest
    @EnumSource(OutputState.class)
    void everyStateOfAnOutputAndEveryProofCanBeKept(OutputState outputState) {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        Proof proof = Proof.values()[outputState.ordinal()];
        Move move = owned.move();
        owned.commit(move.settle(new JournalRow(
                "charge", 0, 1, EffectState.DISPATCHED, EffectState.NOT_APPLIED, "engine", null, move.transition(), proof, null, null, null,
                null, true, null, null, outputState, null, null)));

        assertThat(owned.load().journal().getFirst().outputState()).isEqualTo(outputState);
        assertThat(owned.load().journal().getFirst().proof()).isEqualTo(proof);
    }
}

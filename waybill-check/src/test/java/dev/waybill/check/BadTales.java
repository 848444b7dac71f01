package dev.waybill.check;

import static dev.waybill.check.Tale.json;
import static dev.waybill.check.Tale.text;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import tools.jackson.databind.node.ObjectNode;

/** Histories that each differ from a good one by one lie. */
final class BadTales {
    /** @param property the one that refuses it */
    record Bad(String property, String lie, Supplier<Tale> from, Consumer<Tale> change) {}

    private static final String STRANGE = "99999999-9999-4999-8999-999999999999";

    private final List<Bad> all = new ArrayList<>();

    private BadTales() {}

    static List<Bad> all() {
        BadTales tales = new BadTales();
        tales.sends();
        tales.journal();
        tales.attempts();
        tales.owners();
        tales.transactions();
        tales.certainty();
        tales.memory();
        tales.order();
        tales.clocks();
        tales.clients();
        tales.places();
        return tales.all;
    }

    private void bad(String property, String lie, Supplier<Tale> from, Consumer<Tale> change) {
        all.add(new Bad(property, lie, from, change));
    }

    /** What undid one action is said to undo the other. */
    private static void swapCompensations(Tale tale) {
        ObjectNode sequence = tale.tables.get("sequences").getFirst();
        String definition = text(sequence, "definition");
        String moved = definition.replace("refund", "?").replace("release", "refund").replace("?", "release");
        sequence.put("definition", moved);
    }

    private static void late(ObjectNode row, String member, long millis) {
        row.put(member, java.time.Instant.parse(text(row, member)).plusMillis(millis).toString());
    }

    private static ObjectNode copy(List<ObjectNode> rows, ObjectNode row) {
        ObjectNode copy = row.deepCopy();
        rows.add(copy);
        return copy;
    }

    private void sends() {
        bad("one-delivery", "the request arrives twice", GoodTales::unknown, tale -> copy(tale.ledger, tale.line("delivery", "charge")));
        bad("one-delivery", "half a request, then a whole one", GoodTales::fused, tale -> copy(tale.ledger, tale.line("delivery", "ship"))
                .put("fault", "incomplete: EOF"));
        bad("durable-before-send", "a delivery without a receipt", GoodTales::fused, tale -> copy(tale.ledger, tale.line("delivery", "ship"))
                .put("effect_id", STRANGE));
        bad("durable-before-send", "a request that names no receipt", GoodTales::fused, tale -> copy(tale.ledger, tale.line("delivery", "ship"))
                .remove("effect_id"));
        bad("durable-before-send", "the provider saw no receipt", GoodTales::fused, tale -> tale.line("delivery", "ship").put("seen_state", "absent"));
        bad("durable-before-send", "the provider saw it prepared", GoodTales::fused, tale -> tale.line("delivery", "ship").put("seen_state", "prepared"));
        bad("durable-before-send", "it arrived before the receipt was written", GoodTales::fused, tale -> late(tale.line("delivery", "ship"), "at", -3_000));
        bad("durable-before-send", "what is only prepared was delivered", GoodTales::prepared, tale -> tale.of("pack", 0).arrives());
        bad("once-per-effect", "it lands after it was written off and sent again", GoodTales::resent, tale -> tale.of("charge", 0).applied());
        bad("once-per-effect", "one request is applied twice", GoodTales::declinedThenDone, tale -> copy(tale.ledger, tale.line("apply", "ship")));
        bad("once-per-key", "a second run uses the key of the first", GoodTales::guarded, tale -> {
            tale.receipt("charge", 0).put("idempotency_key", "k1");
            tale.lines("apply", "charge", 0).getFirst().put("idempotency_key", "k1");
        });
        bad("once-per-key", "the key is applied once more, for whoever", GoodTales::fused, tale -> copy(tale.ledger, tale.line("apply", "charge"))
                .remove("effect_id"));
        bad("once-per-content", "two guarded runs do the same", GoodTales::guarded, tale -> tale.line("apply", "charge")
                .put("content", text(tale.ledger.get(1), "content")));
        bad("once-per-content", "the same is done twice where nothing is asked for twice", GoodTales::fused, tale -> {
            tale.settings = new History.Settings(tale.settings.visible(), tale.settings.calm(), tale.settings.skew(), true);
            tale.line("apply", "ship").put("content", text(tale.line("apply", "charge"), "content"));
        });
    }

    private void journal() {
        bad("legal-moves", "unknown goes back to dispatched", GoodTales::unknown, tale -> {
            List<ObjectNode> journal = tale.tables.get("journal");
            ObjectNode unknown = tale.move("charge", 0, 1);
            copy(journal, unknown).put("n", 2).put("from_state", "unknown").put("to_state", "dispatched");
            copy(journal, unknown).put("n", 3);
        });
        bad("legal-moves", "recovery claims to know", GoodTales::lateTruth, tale -> tale.move("charge", 0, 2).put("actor", "recovery")
                .put("claim_epoch", tale.run().path("claim_epoch").asLong() - 1).put("claim_nonce", text(tale.tables.get("claims").get(1), "claim_nonce")));
        bad("legal-moves", "not applied without a proof", GoodTales::declined, tale -> tale.move("charge", 0, 1).putNull("proof"));
        bad("legal-moves", "committed with a proof of the contrary", GoodTales::fused, tale -> tale.move("ship", 0, 1).put("proof", "rejected"));
        bad("legal-moves", "a person says not applied", GoodTales::residualResolved, tale -> {
            tale.move("charge", 0, 2).put("to_state", "not_applied").put("proof", "rejected").put("retry_in_millis", 0);
            tale.client.getLast().put("state", "not_applied");
            tale.ledger.remove(tale.line("apply", "charge"));
        });
        bad("legal-moves", "an output is supplied that was never lost", GoodTales::fused, tale -> copy(tale.tables.get("journal"), tale.move("ship", 0, 1))
                .put("n", 2).put("from_state", "committed").put("actor", "operator:ann").putNull("claim_epoch").putNull("claim_nonce"));
        bad("gapless-journal", "a number is left out", GoodTales::resolved, tale -> tale.move("charge", 0, 2).put("n", 3));
        bad("gapless-journal", "the first move is the second", GoodTales::fused, tale -> tale.move("ship", 0, 1).put("n", 2));
        bad("gapless-journal", "a move leaves a state the receipt was not in", GoodTales::lateTruth, tale -> tale.move("charge", 0, 2)
                .put("from_state", "dispatched"));
        bad("gapless-journal", "a move without a receipt", GoodTales::fused, tale -> copy(tale.tables.get("journal"), tale.move("ship", 0, 1))
                .put("path", "ghost"));
    }

    private void attempts() {
        bad("attempts", "a blind retry while the first is unknown", GoodTales::unknown, tale -> tale.dispatches("charge").triedAgainIn(60_000, "not_sent"));
        bad("attempts", "sent again after it was done", GoodTales::fused, tale -> tale.claimed().dispatches("ship").arrives().answers(200, "{}")
                .settles(200, "{}").completes());
        bad("attempts", "an attempt is left out", GoodTales::declined, tale -> {
            tale.signal("retry").blockRow("charge", "cleared", "{}").claimed();
            tale.dispatches("charge", 2).triedAgainIn(60_000, "not_sent").waitsUntil("retry", "charge", 60_000);
        });
        bad("attempts", "an automatic attempt asks for something else", GoodTales::retried, tale -> tale.receipt("charge", 1).put("request_sha256", "x"));
        bad("attempts", "an automatic attempt has another key", GoodTales::retried, tale -> tale.receipt("charge", 1).put("idempotency_key", "k2"));
        bad("attempts", "sent again after a write-off that did not allow it", GoodTales::resent, tale -> tale.move("charge", 0, 2).putNull("retry_in_millis"));
        bad("attempts", "it resends what is not before it", GoodTales::resentByKey, tale -> tale.receipt("charge", 1).put("resend_of", STRANGE));
        bad("attempts", "it resends without a key", GoodTales::resentByKey, tale -> List.of(0, 1).forEach(attempt -> tale.receipt("charge", attempt)
                .putNull("idempotency_key")));
        bad("attempts", "it resends under another key", GoodTales::chainHealed, tale -> {
            tale.receipt("charge", 1).put("idempotency_key", "charge-2");
            tale.ledger.forEach(line -> line.put("idempotency_key", "charge-2"));
        });
        bad("quiet-before-resend", "it resends while the first may still arrive", GoodTales::resentByKey, tale -> late(
                tale.receipt("charge", 0), "quiet_at", 60_000));
        bad("quiet-before-resend", "it resends when the key is forgotten", GoodTales::resentByKey, tale -> tale.receipt("charge", 0)
                .put("key_window_millis", 60_000));
        bad("quiet-before-resend", "it resends without a window", GoodTales::resentByKey, tale -> tale.receipt("charge", 0).putNull("key_window_millis"));
        bad("atomic-settle", "the chain is verified without an output", GoodTales::chainHealed, tale -> tale.move("charge", 1, 2)
                .put("output_state", "none").putNull("output"));
        bad("quiet-before-resend", "sent again while it may still arrive", GoodTales::resent, tale -> late(tale.receipt("charge", 0), "quiet_at", 60_000));
        bad("quiet-before-resend", "absent, and it may still arrive", GoodTales::absent, tale -> late(tale.receipt("charge", 0), "quiet_at", 60_000));
        bad("quiet-before-resend", "absent before it was quiet", GoodTales::retried, tale -> tale.move("charge", 0, 1).put("proof", "verified_absent"));
    }

    private void owners() {
        bad("fenced-owner", "the owner settles what another nonce sent", GoodTales::fused, tale -> tale.move("ship", 0, 1).put("claim_nonce", STRANGE));
        bad("fenced-owner", "the owner settles without a claim", GoodTales::fused, tale -> tale.move("ship", 0, 1).putNull("claim_epoch"));
        bad("fenced-owner", "the fenced owner settles after the next claim began", GoodTales::parallelTakeover, tale -> tale.move("b", 0, 1)
                .put("actor", "engine"));
        bad("fenced-owner", "recovery under the claim that sent", GoodTales::unknown, tale -> tale.move("charge", 0, 1).put("claim_epoch", 1)
                .put("claim_nonce", text(tale.receipt("charge", 0), "claim_nonce")));
        bad("fenced-owner", "recovery without a claim", GoodTales::unknown, tale -> tale.move("charge", 0, 1).putNull("claim_epoch"));
        bad("fenced-owner", "a person under a claim", GoodTales::resolved, tale -> tale.move("charge", 0, 2).put("claim_epoch", 2));
        bad("fenced-owner", "the flight recorder of another claim", GoodTales::recorded, tale -> tale.move("charge", 0, 1).put("claim_epoch", 2));
        bad("provider-bytes", "the flight recorder says what the provider did not", GoodTales::recorded, tale -> tale.move("charge", 0, 1)
                .put("output", Tale.json("{'status': 201, 'headers': {}, 'body': {'id': 'ch_99'}}")));
        bad("no-false-certainty", "the flight recorder denies what arrived", GoodTales::recordedUnsent, tale -> tale.of("charge", 0).arrives());
        bad("fenced-owner", "a late answer of another claim", GoodTales::lateTruth, tale -> tale.move("charge", 0, 2).put("claim_epoch", 2));
        bad("fenced-owner", "one epoch, two nonces", GoodTales::takeover, tale -> {
            tale.tables.get("claims").clear();
            tale.receipt("ship", 0).put("claim_epoch", 1);
            tale.move("ship", 0, 1).put("claim_epoch", 1);
        });
        bad("fenced-owner", "a claim that was never given out", GoodTales::takeover, tale -> tale.tables.get("claims").removeLast());
        bad("fenced-owner", "the run's epoch is behind its rows", GoodTales::takeover, tale -> tale.run().put("claim_epoch", 1));
        bad("fenced-owner", "dispatched after the lease ended", GoodTales::takeover, tale -> tale.tables.get("nodes").getLast()
                .put("expires_at", text(tale.tables.get("nodes").getLast(), "started_at")));
        bad("fenced-owner", "the epoch falls", GoodTales::fused, tale -> {
            tale.run().put("claim_epoch", 7);
            tale.dumped();
            tale.run().put("claim_epoch", 6);
        });
    }

    private void transactions() {
        bad("atomic-settle", "settled without an output", GoodTales::fused, tale -> tale.move("ship", 0, 1).put("output_state", "none"));
        bad("atomic-settle", "the saved output is not there", GoodTales::fused, tale -> tale.move("ship", 0, 1).putNull("output"));
        bad("atomic-settle", "an output unusable for no reason", GoodTales::outputUnusable, tale -> tale.move("charge", 0, 1).putNull("problem"));
        bad("atomic-settle", "the block hears of the no in another transaction", GoodTales::declined, tale -> tale.block("charge", 1)
                .put("transition_id", STRANGE));
        bad("atomic-settle", "an intent behind an unknown effect", GoodTales::unknown, tale -> tale.charges("ship").waits("effect_unknown", "charge"));
        bad("atomic-settle", "an intent behind a lost output", GoodTales::outputLost, tale -> tale.charges("ship").waits("output_lost", "charge"));
        bad("atomic-settle", "settle and intent of one transition at two times", GoodTales::fused, tale -> late(tale.receipt("ship", 0), "at", 1));
        bad("atomic-settle", "one transition in two runs", GoodTales::guarded, tale -> tale.receipt("charge", 0)
                .put("transition_id", text(tale.tables.get("receipts").getFirst(), "transition_id")));
        bad("open-queue", "unknown and in no queue", GoodTales::unknown, tale -> tale.tables.get("effect_open").clear());
        bad("open-queue", "resolved and still in the queue", GoodTales::resolved, tale -> copy(tale.tables.get("effect_open"), tale.receipt("charge", 0))
                .put("table", "effect_open").put("state", "unknown"));
        bad("open-queue", "a lost output queued as unknown", GoodTales::outputLost, tale -> tale.tables.get("effect_open").getFirst()
                .put("state", "unknown"));
        bad("open-queue", "something in the queue that is nothing", GoodTales::unknown, tale -> copy(
                        tale.tables.get("effect_open"), tale.tables.get("effect_open").getFirst())
                .put("path", "ghost"));
        bad("outbox", "unknown and not announced", GoodTales::unknown, tale -> tale.tables.get("events").clear());
        bad("outbox", "announced and never unknown", GoodTales::fused, tale -> tale.event("effect.unknown", text(tale.receipt("ship", 0), "id")));
        bad("outbox", "ended and not announced", GoodTales::fused, tale -> tale.tables.get("events").clear());
        bad("ended-clean", "cancelled while a call is in flight", GoodTales::parallelCancelled, tale -> tale.tables.get("journal")
                .remove(tale.move("b", 0, 1)));
        bad("ended-clean", "waiting while a call is in flight", GoodTales::parallelTakeover, tale -> tale.tables.get("journal").remove(tale.move("b", 0, 1)));
        bad("ended-clean", "a residual that is not named", GoodTales::residual, tale -> tale.run().put("outcome", "{}"));
    }

    private void certainty() {
        bad("no-false-certainty", "verified, and never done", GoodTales::resolved, tale -> tale.ledger.remove(tale.line("apply", "charge")));
        bad("no-false-certainty", "healed, and never done", GoodTales::healed, tale -> tale.ledger.remove(tale.line("apply", "charge")));
        bad("no-false-certainty", "absent, and done", GoodTales::absent, tale -> {
            tale.of("charge", 0).applied();
            tale.ledger.remove(tale.lines("apply", "charge", 1).getFirst());
        });
        bad("no-false-certainty", "rejected, and done", GoodTales::declined, tale -> tale.of("charge", 0).applied());
        bad("no-false-certainty", "nothing was sent, and it arrived", GoodTales::notSent, tale -> tale.of("charge", 0).arrives());
        bad("no-false-certainty", "a 404 that did it", GoodTales::clientErrorCompletes, tale -> tale.of("charge", 0).applied());
        bad("no-false-certainty", "committed on a provider's no", GoodTales::lyingProvider, tale -> {
            ((ObjectNode) tale.line("answer", "charge").get("answer")).put("status", 500);
            tale.move("charge", 0, 1).putNull("reply_status");
        });
        bad("provider-bytes", "another reply", GoodTales::fused, tale -> tale.move("ship", 0, 1).put("reply_body", "e30="));
        bad("provider-bytes", "another status", GoodTales::fused, tale -> tale.move("ship", 0, 1).put("reply_status", 200));
        bad("provider-bytes", "an output that nobody said", GoodTales::fused, tale -> tale.move("ship", 0, 1)
                .put("output", json("{'status': 201, 'body': {'price': 2}}")));
        bad("provider-bytes", "an answer that was never given", GoodTales::fused, tale -> tale.ledger.remove(tale.line("answer", "ship")));
        bad("provider-bytes", "a cut reply that is no beginning of the answer", GoodTales::outputLost, tale -> tale.move("charge", 0, 1)
                .put("reply_body", "eHg="));
    }

    private void memory() {
        Supplier<Tale> two = GoodTales::twoDumps;
        bad("append-only", "a receipt is rewritten", two, tale -> tale.receipt("charge", 0).put("labels", "{\"order\":1}"));
        bad("append-only", "a settle is rewritten", two, tale -> tale.move("charge", 0, 1).put("message", "as it should be"));
        bad("append-only", "evidence is deleted", two, tale -> tale.tables.get("evidence").clear());
        bad("append-only", "an output is rewritten", GoodTales::forEachDumped, tale -> tale.block("items", 1).put("body", json("{'items':[1,2,3]}")));
        bad("append-only", "a definition is rewritten", two, tale -> tale.tables.get("sequences").getFirst()
                .put("definition", text(tale.tables.get("sequences").getFirst(), "definition") + " "));
        bad("append-only", "a run moves to other data", two, tale -> tale.run().put("context", "{\"data\":{\"a\":1}}"));
        bad("append-only", "a completed run is cancelled", two, tale -> tale.ends("cancelled", null));
        bad("append-only", "a run is deleted", GoodTales::loneRunDumped, tale -> {
            tale.tables.get("instances").remove(tale.run());
            tale.tables.get("events").removeLast();
            tale.client.removeLast();
        });
    }

    private void order() {
        bad("block-order", "ran although what stands before it failed", GoodTales::declined, tale -> tale.charges("ship").ends("failed", "HTTP_REJECTED"));
        bad("block-order", "the wrong route", GoodTales::router, tale -> tale.block("way", 1).put("body", "{\"route\":-1}"));
        bad("block-order", "a route that does not lead there", GoodTales::skipped, tale -> tale.charges("elsewhere").completes());
        bad("block-order", "an item is left out", GoodTales::forEach, tale -> forget(tale, "items[1]/charge"));
        bad("block-order", "more items at once than allowed", GoodTales::forEach, tale -> late(tale.move("items[1]/charge", 0, 1), "at", 60));
        bad("block-order", "other items than the collection has", GoodTales::forEach, tale -> tale.block("items", 1).put("body", json("{'items': [1, 2, 4]}")));
        bad("block-order", "an item begins after one has failed", GoodTales::forEachPartial, tale -> tale.charges("items[2]/charge")
                .ends("failed", "HTTP_REJECTED"));
        bad("block-order", "a round decided against its condition", GoodTales::loop, tale -> tale.block("again[1]/$break", 1).put("body", "{\"holds\":false}"));
        bad("block-order", "a loop that says it ran more often", GoodTales::loop, tale -> tale.block("again", 1).put("body", "{\"iterations\":3}"));
        bad("block-order", "the join does not wait", GoodTales::parallel, tale -> late(tale.move("b", 0, 1), "at", 15));
        bad("block-order", "the catch runs without a failure", GoodTales::caughtNothing, tale -> tale.charges("other").completes());
        bad("block-order", "the finally runs before the catch has ended", GoodTales::caught, tale -> late(tale.move("other", 0, 1), "at", 15));
        bad("block-order", "the finally runs even before the catch that failed had ended", GoodTales::catchAskedAgain, tale -> {
            late(tale.block("other", 1), "at", 15);
            late(tale.move("other", 0, 1), "at", 15);
        });
        bad("block-order", "completed, and the last step never ran", GoodTales::fused, tale -> forget(tale, "ship"));
        bad("block-order", "failed, and nothing had", GoodTales::fused, tale -> tale.ends("failed", "WHATEVER"));
        bad("block-order", "it ran although its condition does not hold", GoodTales::skippedNot, tale -> tale.run().put("context", json("{'data':{'total':0}}")));
        bad("block-order", "it was skipped although its condition holds", GoodTales::skipped, tale -> tale.run().put("context", json("{'data':{'total':1}}")));
    }

    /** As if this effect had never been. */
    private static void forget(Tale tale, String path) {
        for (String kind : List.of("delivery", "apply", "answer")) {
            tale.ledger.removeAll(tale.lines(kind, path, 0));
        }
        tale.tables.get("journal").remove(tale.move(path, 0, 1));
        tale.tables.get("receipts").remove(tale.receipt(path, 0));
    }

    private void clocks() {
        bad("timers", "a delay ends early", GoodTales::delayed, tale -> tale.block("charge", 1).put("due_in_millis", 1_100));
        bad("timers", "a sleep ends early", GoodTales::delayed, tale -> tale.block("nap", 1).put("due_in_millis", 400));
        bad("timers", "a poll ends early", GoodTales::loop, tale -> tale.block("again[0]/$poll", 1).put("due_in_millis", 300));
        bad("timers", "a backoff ends early", GoodTales::retried, tale -> tale.move("charge", 0, 1).put("retry_in_millis", 900));
        bad("timers", "a resend does not wait for the refused one's backoff", GoodTales::limited, tale -> tale.move("charge", 1, 1).put("retry_in_millis", 20_100));
        bad("timers", "a delayed start begins early", GoodTales::fused, tale -> tale.client.getFirst().put("delay_ms", 500));
        bad("rest-after-calm", "still running", GoodTales::waitsForTimer, tale -> tale.run().put("state", "running"));
        bad("rest-after-calm", "scheduled, and nobody takes it", GoodTales::waitsForTimer, tale -> tale.run().put("state", "scheduled").putNull("reasons")
                .put("next_fire_at", text(tale.run(), "created_at")));
        bad("rest-after-calm", "waiting for no reason", GoodTales::waitsForTimer, tale -> tale.run().putNull("reasons"));
        bad("rest-after-calm", "waiting for a reason nobody knows", GoodTales::waitsForTimer, tale -> tale.run().put("reasons", json("[{'reason': 'moon'}]")));
        bad("rest-after-calm", "waiting for a time that never comes", GoodTales::waitsForTimer, tale -> tale.run().putNull("next_fire_at"));
        bad("visible", "found only a minute after the kill", GoodTales::unknown, tale -> {
            late(tale.move("charge", 0, 1), "at", 60_000);
            late(tale.run(), "updated_at", 60_000);
        });
        bad("visible", "never found", GoodTales::inFlight, tale -> tale.after(55_000).fault("kill", "n9"));
        bad("visible", "the owner says so long after the timeout", GoodTales::hung, tale -> late(tale.receipt("charge", 0), "quiet_at", -10_000));
        bad("drained", "left in flight by the drain, found later", GoodTales::drained, tale -> late(tale.faults.getLast(), "until", -2_000));
        bad("drained", "left in flight for good", GoodTales::inFlight, tale -> tale.fault("drain", "n1").faults.getLast().put("until", tale.now.toString()));
    }

    private void clients() {
        bad("nothing-lost", "an acknowledged start is not there", GoodTales::fused, tale -> tale.call("start").put("id", STRANGE));
        bad("nothing-lost", "an acknowledged cancel is not there", GoodTales::residual, tale -> tale.tables.get("events")
                .removeIf(event -> text(event, "type").equals("run.cancel")));
        bad("nothing-lost", "an acknowledged resolution is not there", GoodTales::resolved, tale -> tale.client.getLast().put("state", "committed"));
        bad("nothing-lost", "an acknowledged resolution of nothing", GoodTales::resolved, tale -> tale.call("resolve").put("effect", STRANGE)
                .put("state", "verified"));
        bad("nothing-lost", "two people were told yes", GoodTales::resolved, tale -> copy(tale.client, tale.client.getLast()));
        bad("nothing-lost", "a refused resolution changed the ledger", GoodTales::resolved, tale -> tale.client.getLast().put("result", "fail"));
        bad("one-run-per-key", "two callers were told two runs", GoodTales::twoRuns, tale -> tale.client.forEach(call -> call.put("key", "order-1")));
        bad("one-run-per-key", "one key made two runs", GoodTales::twoRuns, tale -> tale.tables.get("instances").forEach(run -> run.put("dedup_key", "x")));
        bad("one-run-per-key", "every start was refused, and there is a run", GoodTales::oneKey, tale -> tale.client.forEach(call -> call.put("result", "fail")));
        bad("one-run-per-key", "the key stands for another run", GoodTales::oneKey, tale -> tale.tables.get("dedup_keys").getFirst()
                .put("instance_id", STRANGE));
        bad("undone-in-reverse", "undone in the order in which it was done", GoodTales::sagaUndone, BadTales::swapCompensations);
        bad("undone-in-reverse", "what is unknown is undone", GoodTales::sagaCancelled, BadTales::swapCompensations);
        bad("undone-in-reverse", "compensated, and nothing undid it", GoodTales::sagaUndone, tale -> {
            ObjectNode sequence = tale.tables.get("sequences").getFirst();
            ObjectNode document = (ObjectNode) Json.parse(text(sequence, "definition"));
            ObjectNode charge = (ObjectNode) document.path("blocks").path(0).path("steps").path(1);
            ObjectNode reserve = (ObjectNode) document.path("blocks").path(0).path("steps").path(0);
            ObjectNode both = Json.MAPPER.createObjectNode().put("id", "both").put("type", "parallel");
            both.putArray("branches").add(Json.MAPPER.createArrayNode().add(charge.remove("compensation"))).add(Json.MAPPER.createArrayNode().add(reserve.get("compensation")));
            reserve.set("compensation", both);
            sequence.put("definition", document.toString());
        });
        bad("stopped-means-stopped", "sent after the pause", GoodTales::paused, tale -> tale.client.getLast()
                .put("at", text(tale.run(), "updated_at")).put("answered", text(tale.run(), "updated_at")));
        bad("stopped-means-stopped", "sent after the cancel", GoodTales::cancelledInTime, tale -> {
            late(tale.client.getLast(), "at", -5_000);
            late(tale.client.getLast(), "answered", -5_000);
        });
    }

    private void places() {
        bad("tenant-isolation", "evidence under another tenant", GoodTales::twoDumps, tale -> copy(
                        tale.tables.get("evidence"), tale.tables.get("evidence").getFirst())
                .put("tenant_id", "other"));
        bad("tenant-isolation", "the sequence of another tenant", GoodTales::fused, tale -> tale.tables.get("sequences").getFirst().put("tenant_id", "other"));
        bad("identity", "an id that is not its place's", GoodTales::inFlight, tale -> {
            String wrong = Identity.idOf(text(tale.run(), "execution_id"), tale.runId(), "charge", 1);
            tale.lines("delivery", "charge", 0).getFirst().put("effect_id", wrong);
            tale.receipt("charge", 0).put("id", wrong);
        });
        bad("identity", "a receipt of another execution than its run", GoodTales::fused, tale -> tale.run().put("execution_id", STRANGE));
    }
}

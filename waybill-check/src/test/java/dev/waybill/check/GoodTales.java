package dev.waybill.check;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/** Histories of a sound engine; every property holds of each. */
final class GoodTales {
    private static final String CHARGE = step("charge");
    private static final String SHIP = step("ship");
    static final String CHARGE_AND_SHIP = "[" + CHARGE + ", " + SHIP + "]";

    private GoodTales() {}

    static String step(String id) {
        return step(id, "");
    }

    /** @param more members, each with a comma before it */
    static String step(String id, String more) {
        return "{'id': '" + id + "', 'type': 'step', 'handler': 'http_request', 'params': {'method': 'POST', 'url': '/" + id + "'}" + more + "}";
    }

    static Map<String, Supplier<Tale>> all() {
        Map<String, Supplier<Tale>> all = new LinkedHashMap<>();
        all.put("two steps, the settle of the first fused with the intent of the second", GoodTales::fused);
        all.put("killed in the middle of the call, found by the next claim", GoodTales::unknown);
        all.put("unknown, verified by a person, and on", GoodTales::resolved);
        all.put("written off when it was quiet, and sent again", GoodTales::resent);
        all.put("unknown, found at the provider by the verifier, and on", GoodTales::healed);
        all.put("absent when it was quiet, and sent anew", GoodTales::absent);
        all.put("sent again under its key: the answer settles both", GoodTales::resentByKey);
        all.put("a limit refuses the resend alone, the next one is answered", GoodTales::limited);
        all.put("a limit refuses the resend, and a person has it sent again at once", GoodTales::limitedAndSentAgain);
        all.put("the verifier speaks for the whole chain", GoodTales::chainHealed);
        all.put("it stood there before anything was sent", GoodTales::stoodThere);
        all.put("unknown, then the answer comes late", GoodTales::lateTruth);
        all.put("the answer comes late to a receipt that nobody had found yet", GoodTales::lateBeforeRecovery);
        all.put("a late answer to a settled receipt is only evidence", GoodTales::evidence);
        all.put("the body was cut: done, output lost", GoodTales::outputLost);
        all.put("a lost output supplied by a person", GoodTales::outputSupplied);
        all.put("an output against its schema", GoodTales::outputUnusable);
        all.put("the card is declined and the run fails", GoodTales::declined);
        all.put("the card is declined and another one is caught", GoodTales::caught);
        all.put("a catch that failed is asked again; the finally had run and does not run again", GoodTales::catchAskedAgain);
        all.put("429 and a second attempt with the same key", GoodTales::retried);
        all.put("nothing was sent, and a second attempt", GoodTales::notSent);
        all.put("failed, asked again by a person with another request", GoodTales::askedAgain);
        all.put("a saga that came to its end", GoodTales::saga);
        all.put("a saga whose last action is refused is undone in reverse", GoodTales::sagaUndone);
        all.put("a cancelled saga: only what is proven is undone, and the rest once it is known", GoodTales::sagaCancelled);
        all.put("cancelled with a residual", GoodTales::residual);
        all.put("a residual is resolved after the end", GoodTales::residualResolved);
        all.put("unknown under on_unknown: fail", GoodTales::failPolicy);
        all.put("for_each stops at the item that fails", GoodTales::forEachPartial);
        all.put("for_each with two items at once", GoodTales::forEach);
        all.put("a loop with a poll between its rounds", GoodTales::loop);
        all.put("two branches and a join", GoodTales::parallel);
        all.put("one branch is unknown, the other goes on under the next claim", GoodTales::parallelTakeover);
        all.put("a router takes the route its data say", GoodTales::router);
        all.put("a condition that does not hold", GoodTales::skipped);
        all.put("a delay and a sleep", GoodTales::delayed);
        all.put("a 404 becomes the output", GoodTales::clientErrorCompletes);
        all.put("killed between two steps", GoodTales::takeover);
        all.put("the flight recorder had the answer", GoodTales::recorded);
        all.put("the flight recorder shows that nothing was sent", GoodTales::recordedUnsent);
        all.put("applied, answered 503", GoodTales::applied503);
        all.put("no answer ever comes", GoodTales::hung);
        all.put("the provider says yes and does nothing", GoodTales::lyingProvider);
        all.put("the store lost a receipt that was sent; it is put back", GoodTales::reasserted);
        all.put("paused and resumed", GoodTales::paused);
        all.put("two starts with one key", GoodTales::oneKey);
        all.put("two runs guarded by content", GoodTales::guarded);
        all.put("a worker's task waits prepared", GoodTales::prepared);
        all.put("a node drains", GoodTales::drained);
        all.put("two dumps of one run", GoodTales::twoDumps);
        all.put("a timer that is not due", GoodTales::waitsForTimer);
        all.put("a failure that an empty catch swallows", GoodTales::declinedThenDone);
        all.put("nothing to catch", GoodTales::caughtNothing);
        all.put("a condition that holds", GoodTales::skippedNot);
        all.put("cancelled while one branch is unknown", GoodTales::parallelCancelled);
        all.put("a for_each that failed, dumped twice", GoodTales::forEachDumped);
        all.put("runs without a step", GoodTales::loneRunDumped);
        all.put("a call in flight when the dump was taken", GoodTales::inFlight);
        all.put("two runs beside each other", GoodTales::twoRuns);
        all.put("cancelled between two steps", GoodTales::cancelledInTime);
        return all;
    }

    static Tale fused() {
        Tale tale = new Tale().starts(CHARGE_AND_SHIP, "{}");
        tale.keyed("k1").dispatches("charge").arrives().applied().answers(201, "{'id': 'ch_01'}");
        tale.together(() -> tale.settles(201, "{'id': 'ch_01'}").dispatches("ship"))
                .arrives().applied().answers(201, "{'price': 1.50}").settles(201, "{'price': 1.50}").completes();
        tale.move("ship", 0, 1).put("output", Tale.json("{'status': 201, 'body': {'price': 1.5}}"));
        return tale;
    }

    static Tale unknown() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").dispatches("charge").arrives().applied().killed().foundDead().waits("effect_unknown", "charge");
    }

    static Tale resolved() {
        return unknown().after(60_000).resolved("verified", null).claimed().charges("ship").completes();
    }

    static Tale resent() {
        Tale tale = new Tale().starts("[" + CHARGE + "]", "{}").dispatches("charge").arrives().killed().foundDead();
        return tale.waits("effect_unknown", "charge").after(80_000).resolved("abandoned", 0L).claimed().charges("charge").completes();
    }

    static Tale healed() {
        return unknown().after(2_000).verdict("verified", null, "charge", 0).claimed().charges("ship").completes();
    }

    static Tale absent() {
        Tale tale = new Tale().starts("[" + CHARGE + "]", "{}").dispatches("charge").arrives().unknown("engine", "timeout");
        return tale.waitsUntil("effect_unknown", "charge", 80_000).after(80_000).claimed().verdict("not_applied", 0L, "charge", 0).charges("charge")
                .completes();
    }

    private static Tale keyedUnknown() {
        return new Tale().starts("[" + CHARGE + "]", "{}").keyed("charge-1").dispatches("charge").arrives().applied().unknown("engine", "timeout")
                .waitsUntil("effect_unknown", "charge", 80_000).after(80_000).claimed();
    }

    static Tale resentByKey() {
        return keyedUnknown().resends("charge").arrives().answers(201, "{'id': 'ch_01'}").settlesChain(201, "{'id': 'ch_01'}", "charge", 0).completes();
    }

    static Tale limited() {
        return keyedUnknown().resends("charge").arrives().answers(429, "{}").triedAgainIn(100, "rejected").after(20_000).resends("charge").arrives()
                .answers(201, "{'id': 'ch_01'}").settlesChain(201, "{'id': 'ch_01'}", "charge", 0).completes();
    }

    static Tale limitedAndSentAgain() {
        Tale tale = new Tale().starts("[" + CHARGE + "]", "{}").keyed("charge-1").dispatches("charge").arrives().unknown("engine", "timeout");
        tale.waitsUntil("effect_unknown", "charge", 80_000).after(80_000).claimed().resends("charge").arrives().answers(429, "{}");
        tale.triedAgainIn(5_000, "rejected").waits("effect_unknown", "charge").after(100).of("charge", 0).resolved("abandoned", 0L);
        return tale.claimed().keyed("charge-1").charges("charge").completes();
    }

    static Tale chainHealed() {
        return keyedUnknown().resends("charge").arrives().unknown("engine", "timeout").after(3_000).verdict("verified", null, "charge", 0, 1)
                .completes();
    }

    static Tale stoodThere() {
        return new Tale().starts("[" + CHARGE + "]", "{}").standsAlready("charge").completes();
    }

    static Tale lateTruth() {
        return unknown().after(3_000).of("charge", 0).answers(201, "{'id': 'ch_01'}").settlesLate(201, "{'id': 'ch_01'}").claimed()
                .charges("ship").completes();
    }

    static Tale lateBeforeRecovery() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").dispatches("charge").arrives().applied().answers(201, "{}").killed()
                .settlesLate(201, "{}").charges("ship").completes();
    }

    static Tale recorded() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").dispatches("charge").arrives().applied().answers(201, "{'id': 'ch_01'}").killed()
                .recorded(201, "{'id': 'ch_01'}").claimed().charges("ship").completes();
    }

    static Tale recordedUnsent() {
        return new Tale().starts("[" + CHARGE + "]", "{}").dispatches("charge").killed().recordedUnsent().claimed().after(200)
                .charges("charge").completes();
    }

    static Tale evidence() {
        return resolved().after(100).of("charge", 0).evidence("late_answer").dumped();
    }

    static Tale outputLost() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").dispatches("charge").arrives().applied().answers(201, "{'id': 'ch_01'}")
                .losesOutput(201, "{'id").waits("output_lost", "charge");
    }

    static Tale outputSupplied() {
        return outputLost().after(1_000).outputSupplied().claimed().charges("ship").completes();
    }

    static Tale outputUnusable() {
        Tale tale = new Tale().starts("[" + CHARGE + "]", "{}").dispatches("charge").arrives().applied().answers(201, "{'id': 1}");
        return tale.together(() -> tale.outputUnusable(201, "{'id': 1}")).ends("failed", "OUTPUT_INVALID");
    }

    static Tale declined() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").declined("charge").ends("failed", "HTTP_REJECTED");
    }

    static Tale caught() {
        return new Tale().starts("[{'id': 't', 'type': 'try_catch', 'try_block': [" + CHARGE + "], 'catch_block': [" + step("other")
                        + "], 'finally_block': [" + step("tell") + "]}, " + SHIP + "]", "{}")
                .declined("charge").charges("other").charges("tell").charges("ship").completes();
    }

    static Tale catchAskedAgain() {
        Tale tale = new Tale().starts("[{'id': 't', 'type': 'try_catch', 'try_block': [" + CHARGE + "], 'catch_block': [" + step("other")
                        + "], 'finally_block': [" + step("tell") + "]}]", "{}")
                .declined("charge").declined("other").charges("tell").ends("failed", "HTTP_REJECTED");
        return tale.after(1_000).signal("retry").blockRow("other", "cleared", "{'attempts': 1}").claimed().charges("other").completes();
    }

    static Tale retried() {
        return new Tale().starts("[" + CHARGE + "]", "{}").keyed("k1").dispatches("charge").arrives().answers(429, "{}").triedAgainIn(500, "rejected")
                .waitsUntil("retry", "charge", 500).after(500).claimed().keyed("k1").charges("charge").completes();
    }

    static Tale notSent() {
        return new Tale().starts("[" + CHARGE + "]", "{}").dispatches("charge").triedAgainIn(0, "not_sent").charges("charge").completes();
    }

    static Tale askedAgain() {
        Tale tale = declined().after(5_000).signal("retry").blockRow("charge", "cleared", "{'attempts': 1}").claimed().charges("charge");
        tale.receipt("charge", 1).put("request_sha256", "another card");
        return tale.charges("ship").completes();
    }

    private static String pair(String action, String compensation) {
        return "{'id': '" + action + "', 'action': " + step(action) + ", 'compensation': " + step(compensation) + "}";
    }

    private static final String SAGA = "[{'id': 'order', 'type': 'saga', 'steps': [" + pair("reserve", "release") + ", " + pair("charge", "refund")
            + ", " + pair("pack", "unpack") + "]}, " + SHIP + "]";

    static Tale saga() {
        Tale tale = new Tale().starts(SAGA, "{}").charges("reserve").charges("charge").dispatches("pack").arrives().applied().answers(201, "{}");
        return tale.together(() -> tale.settles(201, "{}").blockRow("order", "output", "{'steps': 3}")).charges("ship").completes();
    }

    static Tale sagaUndone() {
        Tale tale = new Tale().starts(SAGA, "{}").charges("reserve").charges("charge").dispatches("pack").arrives().answers(422, "{}");
        tale.together(() -> tale.refused(422, "{}").blockRow("pack", "error", "{'code': 'HTTP_REJECTED'}").blockRow("order", "frame", "{'path': 'pack', 'error': {'code': 'HTTP_REJECTED'}}").dispatches("refund"));
        tale.arrives().applied().answers(201, "{}");
        tale.together(() -> tale.settles(201, "{}").of("charge", 0).compensated().dispatches("release"));
        tale.arrives().applied().answers(201, "{}");
        return tale.together(() -> tale.settles(201, "{}").of("reserve", 0).compensated()).ends("failed", "HTTP_REJECTED");
    }

    /** Case A20. */
    static Tale sagaCancelled() {
        Tale tale = new Tale().starts(SAGA, "{}").charges("reserve").dispatches("charge").arrives().applied().unknown("engine", "reset").waits("effect_unknown", "charge")
                .after(1_000).signal("cancel").after(500).claimed();
        tale.together(() -> tale.blockRow("$undo", "frame", "{'ends': 'cancelled'}").dispatches("release"));
        tale.arrives().applied().answers(201, "{}");
        tale.together(() -> tale.settles(201, "{}").of("reserve", 0).compensated()).ends("cancelled", null, "charge");
        tale.after(90_000).of("charge", 0).resolved("committed", null).after(1_000);
        tale.blockRow("$undo", "frame", "{'ends': 'cancelled'}").claimed().dispatches("refund").arrives().applied().answers(201, "{}");
        return tale.together(() -> tale.settles(201, "{}").of("charge", 0).compensated()).ends("cancelled", null);
    }

    static Tale residual() {
        return unknown().after(1_000).signal("cancel").claimed().ends("cancelled", null, "charge");
    }

    static Tale residualResolved() {
        return residual().after(90_000).of("charge", 0).resolved("abandoned", null);
    }

    static Tale failPolicy() {
        return new Tale().starts("[" + step("charge", ", 'on_unknown': ['fail']") + ", " + SHIP + "]", "{}").dispatches("charge").arrives().killed()
                .foundDead().ends("failed", "EFFECT_BLOCKED", "charge");
    }

    private static String forEach(int concurrency) {
        return "[{'id': 'items', 'type': 'for_each', 'collection': '{{ data.orders }}', 'concurrency': " + concurrency + ", 'body': [" + CHARGE
                + "]}, " + SHIP + "]";
    }

    static Tale forEachPartial() {
        return new Tale().starts(forEach(1), "{'orders': [1, 2, 3]}").blockRow("items", "frame", "{'items': [1, 2, 3]}").charges("items[0]/charge")
                .declined("items[1]/charge").ends("failed", "HTTP_REJECTED");
    }

    static Tale forEach() {
        Tale tale = new Tale().starts(forEach(2), "{'orders': [1, 2.0, 3]}");
        tale.together(() -> tale.blockRow("items", "frame", "{'items': [1, 2, 3]}").dispatches("items[0]/charge").dispatches("items[1]/charge"));
        tale.of("items[1]/charge", 0).arrives().applied().answers(201, "{}").settles(201, "{}");
        tale.charges("items[2]/charge").of("items[0]/charge", 0).arrives().applied().answers(201, "{}");
        return tale.together(() -> tale.settles(201, "{}").blockRow("items", "output", "{'count': 3}")).charges("ship").completes();
    }

    static Tale loop() {
        Tale tale = new Tale().starts(
                "[{'id': 'again', 'type': 'loop', 'condition': 'data.rounds > 0', 'break_on': '= outputs.ask.body.left = 0', 'poll_interval': 200,"
                        + " 'body': [" + step("ask") + "]}, " + SHIP + "]", "{'rounds': 1}");
        tale.together(() -> tale.blockRow("again[0]", "frame", "{'holds': true}").dispatches("again[0]/ask"));
        tale.arrives().applied().answers(201, "{'left': 1}");
        tale.together(() -> tale.settles(201, "{'left': 1}").blockRow("again[0]/$break", "frame", "{'holds': false}")
                .timer("again[0]/$poll", "timer", 200)).after(200);
        tale.blockRow("again[1]", "frame", "{'holds': true}").charges("again[1]/ask", "{'left': 0}");
        return tale.together(() -> tale.blockRow("again[1]/$break", "frame", "{'holds': true}")
                        .blockRow("again", "output", "{'iterations': 2, 'exhausted': false}"))
                .charges("ship").completes();
    }

    private static final String BRANCHES =
            "[{'id': 'both', 'type': 'parallel', 'branches': [[" + step("a") + ", " + step("a2") + "], [" + step("b") + "]]}, " + SHIP + "]";

    static Tale parallel() {
        Tale tale = new Tale().starts(BRANCHES, "{}");
        tale.together(() -> tale.dispatches("a").dispatches("b"));
        tale.of("a", 0).arrives().applied().answers(201, "{}").settles(201, "{}").charges("a2");
        return tale.of("b", 0).arrives().applied().answers(201, "{}").settles(201, "{}").charges("ship").completes();
    }

    static Tale parallelTakeover() {
        Tale tale = new Tale().starts(BRANCHES, "{}");
        tale.together(() -> tale.dispatches("a").dispatches("b"));
        tale.of("a", 0).arrives().applied().of("b", 0).arrives().applied().answers(201, "{}").killed();
        return tale.of("a", 0).foundDead().of("b", 0).settlesLate(201, "{}").waits("effect_unknown", "a");
    }

    static Tale router() {
        return new Tale().starts("[{'id': 'way', 'type': 'router', 'routes': [{'condition': 'data.total > 100 && data.country == \\'SE\\'', 'blocks': ["
                        .replace("\\'", "\\\"") + step("check") + "]}, {'condition': 'data.total <= 100', 'blocks': [" + CHARGE + "]}], 'default': ["
                        + step("ask") + "]}, " + SHIP + "]", "{'total': 250.5, 'country': 'SE'}")
                .blockRow("way", "frame", "{'route': 0}").charges("check").charges("ship").completes();
    }

    static Tale skipped() {
        return new Tale().starts("[" + step("charge", ", 'when': '= data.total > 0'") + ", " + SHIP + "]", "{'total': 0}")
                .blockRow("charge", "output", "null").charges("ship").completes();
    }

    static Tale delayed() {
        return new Tale().starts("[" + step("charge", ", 'delay': '1s'") + ", {'id': 'nap', 'type': 'step', 'handler': 'sleep'}]", "{}")
                .timer("charge", "timer", 1_000).after(1_000).charges("charge").timer("nap", "timer", 300).after(300)
                .blockRow("nap", "output", "{}").completes();
    }

    static Tale clientErrorCompletes() {
        Tale tale = new Tale().starts("[" + step("charge", ", 'client_error_mode': 'complete'") + ", " + SHIP + "]", "{}").dispatches("charge")
                .arrives().answers(404, "{}");
        return tale.together(() -> tale.refused(404, "{}").blockRow("charge", "output", "{'status': 404}")).charges("ship").completes();
    }

    static Tale takeover() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").charges("charge").killed().charges("ship").completes();
    }

    static Tale applied503() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").dispatches("charge").arrives().applied().answers(503, "").unknown("engine", "status_503")
                .waits("effect_unknown", "charge").after(2_000).resolved("committed", null).claimed().charges("ship").completes();
    }

    /** The step's timeout is 10 s, the deadline to send 2 s: from then on 40 s. */
    static Tale hung() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").dispatches("charge").arrives().after(50_000).unknown("engine", "timeout")
                .waits("effect_unknown", "charge");
    }

    static Tale lyingProvider() {
        return new Tale().starts("[" + CHARGE + "]", "{}").dispatches("charge").arrives().answers(200, "{}").settles(200, "{}").completes();
    }

    static Tale reasserted() {
        Tale tale = new Tale().starts(CHARGE_AND_SHIP, "{}").dispatches("charge").arrives().applied().after(1_000).foundDead();
        tale.move("charge", 0, 1).put("reason", "ledger_may_be_behind").putNull("claim_epoch").putNull("claim_nonce");
        tale.run().put("claim_epoch", 2);
        return tale.paused("ledger_may_be_behind");
    }

    static Tale paused() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").charges("charge").signal("pause").paused("paused").after(30_000).signal("resume").after(10)
                .claimed().charges("ship").completes();
    }

    static Tale oneKey() {
        Tale tale = new Tale().starts("[" + CHARGE + "]", "[]", "{}", "order-1");
        tale.call("start").put("key", "order-1");
        tale.call("start").put("key", "order-2").put("result", "fail").putNull("id");
        tale.tables.get("dedup_keys").add(Json.MAPPER.createObjectNode().put("table", "dedup_keys").put("tenant_id", Tale.TENANT)
                .put("scope", "run").put("key", "order-1").put("instance_id", tale.runId()));
        return tale.charges("charge").completes();
    }

    static Tale guarded() {
        String once = "[{'name': 'once', 'rule': {'type': 'effect_at_most_once', 'kind': 'http', 'scope': 'tenant', 'key': 'k'}, 'commit_guard': true}]";
        Tale tale = new Tale();
        tale.starts("[" + CHARGE + "]", once, "{}", null).keyed("k1").charges("charge").completes();
        return tale.starts("[" + CHARGE + "]", once, "{}", null).keyed("k2").charges("charge").completes();
    }

    static Tale prepared() {
        Tale tale = new Tale().starts("[" + step("pack") + "]", "{}").dispatches("pack");
        tale.receipt("pack", 0).put("state", "prepared").put("kind", "worker");
        tale.tables.get("effect_open").add(tale.receipt("pack", 0).deepCopy().put("table", "effect_open"));
        return tale.waits("worker", "pack");
    }

    static Tale drained() {
        Tale tale = inFlight().fault("drain", "n1").after(4_000).answers(201, "{}").applied().settles(201, "{}");
        tale.faults.getLast().put("until", tale.now.plusMillis(10).toString());
        return tale.after(100).node("n2").claimed().charges("ship").completes();
    }

    static Tale twoDumps() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").charges("charge").evidence("note").dumped().charges("ship").completes().dumped().after(10);
    }

    static Tale waitsForTimer() {
        return new Tale().starts("[" + step("charge", ", 'delay': '1h'") + "]", "{}").timer("charge", "timer", 3_600_000)
                .waitsUntil("timer", "charge", 3_600_000).after(120_000);
    }

    static Tale declinedThenDone() {
        return new Tale().starts("[{'id': 't', 'type': 'try_catch', 'try_block': [" + CHARGE + "], 'catch_block': []}, " + SHIP + "]", "{}")
                .declined("charge").charges("ship").completes();
    }

    static Tale caughtNothing() {
        return new Tale().starts("[{'id': 't', 'type': 'try_catch', 'try_block': [" + CHARGE + "], 'catch_block': [" + step("other") + "]}]", "{}")
                .charges("charge").completes();
    }

    static Tale skippedNot() {
        return new Tale().starts("[" + step("charge", ", 'when': 'data.total > 0'") + "]", "{'total': 9}").charges("charge").completes();
    }

    static Tale parallelCancelled() {
        return parallelTakeover().after(10).signal("cancel").claimed().ends("cancelled", null, "a");
    }

    static Tale forEachDumped() {
        return forEachPartial().dumped();
    }

    static Tale loneRunDumped() {
        return new Tale().starts("[]", "{}").completes().starts("[]", "{}").ends("cancelled", null).dumped();
    }

    static Tale inFlight() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").dispatches("charge").arrives();
    }

    static Tale twoRuns() {
        return new Tale().starts("[" + CHARGE + "]", "{}").charges("charge").completes().starts("[" + CHARGE + "]", "{}").charges("charge").completes();
    }

    static Tale cancelledInTime() {
        return new Tale().starts(CHARGE_AND_SHIP, "{}").after(4_000).charges("charge").signal("cancel").ends("cancelled", null);
    }
}

package dev.waybill.check;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A history told in a few words. Each word writes the rows and lines that a sound engine, provider or client would, 10 ms after the word
 * before; {@link #together} puts words into one transaction. Everything told can be taken in hand and changed, so that a bad history is a
 * good one with one lie. Texts of JSON are written with single quotes.
 */
final class Tale {
    static final String TENANT = "acme";

    final List<ObjectNode> ledger = new ArrayList<>();
    final List<ObjectNode> client = new ArrayList<>();
    final List<ObjectNode> faults = new ArrayList<>();
    final Map<String, List<ObjectNode>> tables = new HashMap<>();
    final List<Dump> earlier = new ArrayList<>();
    Instant now = Instant.parse("2026-11-30T12:00:00Z");
    History.Settings settings = History.Settings.DEFAULT;

    private int ids;
    private String transition = "";
    private boolean held;
    private ObjectNode run;
    private ObjectNode receipt;
    private String key;
    private String node = "";

    Tale() {
        Dump.TABLES.forEach(table -> tables.put(table, new ArrayList<>()));
    }

    static String json(String quoted) {
        return quoted.replace('\'', '"');
    }

    private String id() {
        return new UUID(0x1111_2222_3333_4000L, 0x8000_0000_0000_0000L + ++ids).toString();
    }

    private ObjectNode object() {
        return Json.MAPPER.createObjectNode();
    }

    private ObjectNode row(String table) {
        ObjectNode row = object().put("table", table);
        tables.get(table).add(row);
        return row;
    }

    Tale after(long millis) {
        now = now.plusMillis(millis);
        return this;
    }

    /** A new transaction, unless words are being put together. */
    private String tx() {
        if (!held || transition.isEmpty()) {
            after(10);
            transition = id();
        }
        return transition;
    }

    Tale together(Runnable words) {
        transition = "";
        held = true;
        words.run();
        held = false;
        return this;
    }

    // --- nodes and runs --------------------------------------------------------------------------------------------------------

    Tale node(String name) {
        node = id();
        row("nodes").put("id", node).put("name", name).put("started_at", now.toString()).put("expires_at", now.plusSeconds(3_600).toString())
                .put("fenced", false);
        return this;
    }

    /** A client starts a run of these blocks, and the node at hand claims it. */
    Tale starts(String blocks, String data) {
        return starts(blocks, "[]", data, null);
    }

    Tale starts(String blocks, String invariants, String data, String startKey) {
        if (node.isEmpty()) {
            node("n1");
        }
        String sequence = id();
        row("sequences").put("tenant_id", TENANT).put("id", sequence).put("namespace", "default").put("name", "s" + ids).put("version", 1)
                .put("definition", json("{'name': 's', 'invariants': " + invariants + ", 'blocks': " + blocks + "}"));
        tx();
        run = row("instances").put("tenant_id", TENANT).put("id", id()).put("execution_id", id()).put("sequence_id", sequence)
                .put("state", "running").putNull("next_fire_at").put("claim_epoch", 1).put("claim_nonce", id()).put("claim_node", node)
                .put("wake_seq", 0).put("cancel_requested", false).put("pause_requested", false).put("created_at", now.toString())
                .put("updated_at", now.toString()).put("dedup_key", startKey).putNull("reasons").putNull("outcome")
                .put("context", json("{'data': " + data + "}"));
        row("claims").put("tenant_id", TENANT).put("instance_id", runId()).put("claim_epoch", 1).put("claim_nonce", text(run, "claim_nonce"))
                .put("claim_node", node).put("at", now.toString());
        call("start").put("key", startKey);
        return this;
    }

    String runId() {
        return text(run, "id");
    }

    /** Another node, or the same one again, has the claim now. */
    Tale claimed() {
        after(10);
        run.put("claim_epoch", run.path("claim_epoch").asLong() + 1).put("claim_nonce", id()).put("claim_node", node).put("state", "running")
                .putNull("reasons").putNull("next_fire_at").put("updated_at", now.toString());
        row("claims").put("tenant_id", TENANT).put("instance_id", runId()).put("claim_epoch", run.path("claim_epoch").asLong())
                .put("claim_nonce", text(run, "claim_nonce")).put("claim_node", node).put("at", now.toString());
        return this;
    }

    Tale fault(String kind, String name) {
        faults.add(object().put("at", now.toString()).put("kind", kind).put("node", name));
        return this;
    }

    /** kill -9 of n1; five seconds later n2 has the run. */
    Tale killed() {
        return fault("kill", "n1").after(5_000).node("n2").claimed();
    }

    private Tale released(String state, String reasons, String outcome) {
        tx();
        run.put("state", state).put("reasons", reasons == null ? null : json(reasons)).put("outcome", outcome == null ? null : json(outcome))
                .putNull("claim_node").putNull("next_fire_at").put("updated_at", now.toString());
        return this;
    }

    Tale completes() {
        released("completed", null, "{'output': null}");
        return event("instance.completed", null);
    }

    /** @param residuals paths of effects that stay unknown */
    Tale ends(String state, String error, String... residuals) {
        StringBuilder named = new StringBuilder();
        for (String path : residuals) {
            named.append(named.isEmpty() ? "" : ", ").append("{'effect_id': '").append(text(receipt(path, 0), "id")).append("'}");
        }
        released(state, null, "{" + (error == null ? "" : "'error': {'code': '" + error + "'}, ") + "'residuals': [" + named + "]}");
        return event("instance." + state, null);
    }

    Tale waits(String reason, String path) {
        return released("waiting", "[{'reason': '" + reason + "', 'path': '" + path + "'}]", null);
    }

    Tale waitsUntil(String reason, String path, long millis) {
        waits(reason, path);
        run.put("next_fire_at", now.plusMillis(millis).toString());
        return this;
    }

    Tale paused(String reason) {
        return released("paused", "[{'reason': '" + reason + "'}]", null);
    }

    Tale event(String type, String subject) {
        row("events").put("tenant_id", TENANT).put("instance_id", runId()).put("type", type).put("subject", subject).put("at", now.toString())
                .put("payload", "{}");
        return this;
    }

    /** A client's acknowledged pause, resume, cancel or retry. */
    Tale signal(String name) {
        tx();
        event("run." + name, null);
        if (name.equals("cancel")) {
            run.put("cancel_requested", true);
        }
        if (name.equals("pause") || name.equals("resume")) {
            run.put("pause_requested", name.equals("pause"));
        }
        call("signal").put("signal", name);
        return this;
    }

    /** A client's acknowledged call about the run at hand. */
    ObjectNode call(String op) {
        ObjectNode call = object().put("op", op).put("result", "ok").put("at", now.minusMillis(1).toString())
                .put("answered", now.plusMillis(1).toString()).put("tenant", TENANT).put("id", runId());
        client.add(call);
        return call;
    }

    // --- effects ---------------------------------------------------------------------------------------------------------------

    Tale keyed(String idempotencyKey) {
        key = idempotencyKey;
        return this;
    }

    Tale dispatches(String path) {
        return dispatches(path, (int) tables.get("receipts").stream().filter(one -> at(one, path)).count());
    }

    Tale dispatches(String path, int attempt) {
        tx();
        receipt = row("receipts").put("tenant_id", TENANT).put("instance_id", runId()).put("path", path).put("attempt", attempt)
                .put("id", Identity.idOf(text(run, "execution_id"), runId(), path, attempt)).put("execution_id", text(run, "execution_id"))
                .put("state", "dispatched").put("kind", "http").put("handler", "http_request").put("destination", "http_request /" + path)
                .put("destination_fingerprint", "f").put("idempotency_key", key).put("request_sha256", "sha of " + path)
                .put("request", json("{'method': 'POST', 'url': '/" + path + "'}")).put("claim_epoch", run.path("claim_epoch").asLong())
                .put("claim_nonce", text(run, "claim_nonce")).put("node_id", text(run, "claim_node")).put("transition_id", transition)
                .put("at", now.toString()).put("quiet_at", now.plusSeconds(72).toString()).putNull("resend_of").put("labels", "{}");
        key = null;
        return this;
    }

    /** The attempt before, again under its key: the destination honours it for an hour. */
    Tale resends(String path) {
        ObjectNode before = receipt;
        before.put("key_window_millis", 3_600_000);
        keyed(text(before, "idempotency_key")).dispatches(path);
        receipt.put("resend_of", text(before, "id")).put("key_window_millis", 3_500_000);
        return this;
    }

    private boolean at(ObjectNode row, String path) {
        return text(row, "instance_id").equals(runId()) && text(row, "path").equals(path);
    }

    ObjectNode receipt(String path, int attempt) {
        return find("receipts", path, attempt, 0);
    }

    ObjectNode move(String path, int attempt, int n) {
        return find("journal", path, attempt, n);
    }

    ObjectNode block(String path, int n) {
        return tables.get("block_outputs").stream().filter(row -> at(row, path) && row.path("n").asInt() == n).findFirst().orElseThrow();
    }

    ObjectNode run() {
        return run;
    }

    private ObjectNode find(String table, String path, int attempt, int n) {
        return tables.get(table).stream()
                .filter(row -> at(row, path) && row.path("attempt").asInt() == attempt && (n == 0 || row.path("n").asInt() == n))
                .findFirst()
                .orElseThrow();
    }

    /** What the provider wrote down of this attempt. */
    List<ObjectNode> lines(String kind, String path, int attempt) {
        String id = text(receipt(path, attempt), "id");
        return ledger.stream().filter(line -> text(line, "kind").equals(kind) && text(line, "effect_id").equals(id)).toList();
    }

    ObjectNode line(String kind, String path) {
        return lines(kind, path, 0).getFirst();
    }

    private ObjectNode provider(String kind) {
        after(5);
        ObjectNode line = object().put("seq", ledger.size() + 1).put("at", now.toString()).put("kind", kind).put("delivery", ledger.size() + 1)
                .put("method", "POST").put("path", "/" + text(receipt, "path")).put("effect_id", text(receipt, "id"))
                .put("content", "POST /" + text(receipt, "path") + " " + text(receipt, "instance_id"));
        if (receipt.path("idempotency_key").isString()) {
            line.put("idempotency_key", text(receipt, "idempotency_key"));
        }
        ledger.add(line);
        return line;
    }

    Tale arrives() {
        provider("delivery").put("seen_state", "dispatched");
        return this;
    }

    Tale applied() {
        provider("apply").set("answer", object().put("id", "ch_01"));
        return this;
    }

    Tale answers(int status, String body) {
        provider("answer").set("answer", object().put("status", status).put("body", json(body)));
        return this;
    }

    /** The receipt at this path is the one the next words speak of. */
    Tale of(String path, int attempt) {
        receipt = receipt(path, attempt);
        return this;
    }

    /** A whole step that went well: sent, done, answered, settled. */
    Tale charges(String path) {
        return charges(path, "{'id': 'ch_01'}");
    }

    Tale charges(String path, String body) {
        return dispatches(path).arrives().applied().answers(201, body).settles(201, body);
    }

    private ObjectNode moves(String to, String actor) {
        tx();
        String path = text(receipt, "path");
        int attempt = receipt.path("attempt").asInt();
        List<ObjectNode> before = tables.get("journal").stream().filter(row -> at(row, path) && row.path("attempt").asInt() == attempt).toList();
        boolean recovers = actor.equals("recovery") || actor.equals("compensation");
        boolean person = actor.startsWith("operator:");
        ObjectNode from = recovers ? run : receipt;
        ObjectNode move = row("journal").put("tenant_id", TENANT).put("instance_id", text(receipt, "instance_id")).put("path", path)
                .put("attempt", attempt).put("n", before.size() + 1)
                .put("from_state", before.isEmpty() ? text(receipt, "state") : text(before.getLast(), "to_state")).put("to_state", to)
                .put("actor", actor).put("transition_id", transition).put("at", now.toString()).putNull("proof").putNull("reason")
                .putNull("retry_in_millis").put("output_state", "none").putNull("problem").putNull("output").putNull("reply_status")
                .put("reply_truncated", false).putNull("reply_body");
        if (!person) {
            move.put("claim_epoch", from.path("claim_epoch").asLong()).put("claim_nonce", text(from, "claim_nonce"));
        }
        tables.get("effect_open").removeIf(row -> at(row, path) && row.path("attempt").asInt() == attempt);
        return move;
    }

    private void queued(String state) {
        row("effect_open").put("tenant_id", TENANT).put("instance_id", text(receipt, "instance_id")).put("path", text(receipt, "path"))
                .put("attempt", receipt.path("attempt").asInt()).put("id", text(receipt, "id")).put("state", state);
    }

    private static ObjectNode reply(ObjectNode move, int status, String body) {
        return move.put("reply_status", status).put("reply_body", Base64.getEncoder().encodeToString(json(body).getBytes(StandardCharsets.UTF_8)));
    }

    private static ObjectNode saved(ObjectNode move, int status, String body) {
        return reply(move, status, body).put("output_state", "saved").put("output", json("{'status': " + status + ", 'headers': {}, 'body': " + body + "}"));
    }

    Tale settles(int status, String body) {
        saved(moves("committed", "engine"), status, body);
        return this;
    }

    Tale settlesLate(int status, String body) {
        saved(moves("committed", "engine-late"), status, body);
        return this;
    }

    /** The flight recorder of the dead node had the answer. */
    Tale recorded(int status, String body) {
        saved(moves("committed", "recorder"), status, body);
        return this;
    }

    /** The flight recorder of the dead node shows that nothing left. */
    Tale recordedUnsent() {
        moves("not_applied", "recorder").put("proof", "not_sent").put("reason", "crashed_before_send").put("retry_in_millis", 100);
        return this;
    }

    /** 2xx, but the body was cut. */
    Tale losesOutput(int status, String part) {
        reply(moves("committed", "engine"), status, part).put("output_state", "lost").put("reason", "output_lost").put("reply_truncated", true);
        queued("output_lost");
        return this;
    }

    Tale outputUnusable(int status, String body) {
        reply(moves("committed", "engine"), status, body).put("output_state", "unusable").put("problem", json("{'code': 'OUTPUT_INVALID'}"));
        return blockRow(text(receipt, "path"), "error", "{'code': 'OUTPUT_INVALID'}");
    }

    Tale unknown(String actor, String reason) {
        moves("unknown", actor).put("reason", reason);
        queued("unknown");
        return event("effect.unknown", text(receipt, "id"));
    }

    /** A verdict of the verifier about these attempts, in one move. @param retryIn of an absence */
    Tale verdict(String state, Long retryIn, String path, int... attempts) {
        together(() -> {
            for (int attempt : attempts) {
                ObjectNode move = of(path, attempt).moves(state, "verifier").put("retry_in_millis", retryIn);
                move.putNull("claim_epoch").putNull("claim_nonce");
                if (state.equals("not_applied")) {
                    move.put("proof", "verified_absent");
                } else if (attempt == attempts[attempts.length - 1]) {
                    move.put("output_state", "saved").put("output", json("{'id': 'ch_01'}"));
                }
            }
            blockRow(path + "$verify", "frame", "{'reads': 1}");
            evidence("verifier_read");
        });
        return this;
    }

    /** The answer to a resend settles the chain: the answered one committed, the earlier ones verified. */
    Tale settlesChain(int status, String body, String path, int... earlier) {
        ObjectNode answered = receipt;
        together(() -> {
            settles(status, body);
            for (int attempt : earlier) {
                of(path, attempt).moves("verified", "resend").put("reason", "resend_answered");
            }
        });
        receipt = answered;
        return this;
    }

    /** What stood there before anything was sent. */
    Tale standsAlready(String path) {
        together(() -> {
            dispatches(path);
            receipt.put("state", "prepared");
            moves("verified", "verifier").putNull("claim_epoch").putNull("claim_nonce").put("output_state", "saved").put("output", json("{'id': 'x'}"));
            evidence("verifier_read");
        });
        return this;
    }

    /** The next claim finds it dispatched under a dead one. */
    Tale foundDead() {
        return unknown("recovery", "crash");
    }

    /** A definite no, and the end of the step. */
    Tale refused(int status, String body) {
        reply(moves("not_applied", "engine"), status, body).put("proof", "rejected").put("problem", json("{'code': 'HTTP_REJECTED'}"));
        return this;
    }

    /** A definite no that is tried again. */
    Tale triedAgainIn(long millis, String proof) {
        moves("not_applied", "engine").put("proof", proof).put("retry_in_millis", millis);
        return this;
    }

    /** The owner undid it, and settles the receipt of that in the same transaction. */
    Tale compensated() {
        moves("compensated", "compensation").put("reason", "compensated").put("output_state", "saved").put("output", "{}");
        return event("effect.resolved", text(receipt, "id"));
    }

    /** A client's acknowledged resolution. @param resendIn null = nothing is sent again */
    Tale resolved(String state, Long resendIn) {
        together(() -> {
            ObjectNode move = moves(state, "operator:ann").put("reason", "resolved").put("retry_in_millis", resendIn);
            if (state.equals("committed") || state.equals("verified")) {
                move.put("output_state", "saved").put("output", json("{'provider_receipt_id': 'ch_01', 'resolved': true}"));
            }
            evidence("resolution");
        });
        call("resolve").put("effect", text(receipt, "id")).put("state", state);
        return this;
    }

    Tale outputSupplied() {
        String state = text(tables.get("journal").getLast(), "to_state");
        moves(state, "operator:ann").put("reason", "output_supplied").put("output_state", "saved").put("output", json("{'body': 1}"));
        return evidence("output");
    }

    Tale evidence(String kind) {
        tx();
        row("evidence").put("tenant_id", TENANT).put("instance_id", runId()).put("path", text(receipt, "path"))
                .put("attempt", receipt.path("attempt").asInt()).put("seq", tables.get("evidence").size() + 1).put("transition_id", transition)
                .put("kind", kind).put("actor", "engine-late").put("at", now.toString()).put("body", "{}");
        return this;
    }

    // --- blocks ----------------------------------------------------------------------------------------------------------------

    Tale blockRow(String path, String kind, String body) {
        tx();
        int n = (int) tables.get("block_outputs").stream().filter(row -> at(row, path)).count() + 1;
        row("block_outputs").put("tenant_id", TENANT).put("instance_id", runId()).put("path", path).put("n", n).put("kind", kind)
                .putNull("due_in_millis").put("transition_id", transition).put("at", now.toString()).put("body", json(body));
        return this;
    }

    Tale timer(String path, String kind, long millis) {
        blockRow(path, kind, "{}");
        block(path, tables.get("block_outputs").getLast().path("n").asInt()).put("due_in_millis", millis);
        return this;
    }

    /** The card was declined: receipt and step end in one transaction. */
    Tale declined(String path) {
        dispatches(path).arrives().answers(402, "{'error': 'declined'}");
        return together(() -> refused(402, "{'error': 'declined'}").blockRow(path, "error", "{'code': 'HTTP_REJECTED'}"));
    }

    // --- the end ---------------------------------------------------------------------------------------------------------------

    private Dump taken() {
        List<JsonNode> lines = new ArrayList<>();
        lines.add(object().put("table", "dump").put("at", now.toString()).put("store", "tale"));
        tables.values().forEach(rows -> rows.forEach(row -> lines.add(row.deepCopy())));
        return new Dump(lines);
    }

    /** What the store holds here is kept, to be held against what it holds at the end. */
    Tale dumped() {
        earlier.add(taken());
        return this;
    }

    History history() {
        List<Dump> dumps = new ArrayList<>(earlier);
        dumps.add(taken());
        return new History(
                Json.as(Rows.Line.class, ledger), dumps, Json.as(Rows.Call.class, client), Json.as(Rows.Fault.class, faults), settings);
    }

    static String text(ObjectNode row, String member) {
        return row.path(member).asString("");
    }
}

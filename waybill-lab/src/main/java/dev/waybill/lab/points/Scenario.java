package dev.waybill.lab.points;

import dev.waybill.json.Json;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A canonical scenario as data (issue 3, item 3): whoever can run a sequence, play a provider and be a person can run it, on a real
 * database or in the simulator.
 *
 * @param name     also the name of its sequence
 * @param blocks   JSON; reads {@code data.base} (the provider's URL without a path) and {@code data.order} (different in each run)
 * @param provider what the provider does with a path's first, second .. request; afterwards {@link Reply#NORMAL}
 * @param acts     what people do, each once, in this order; beside them the operator resolves whatever is unknown by the provider's
 *                 ledger: applied = committed and continue, not there once it is quiet = abandoned and resend
 * @param end      the wire name of the state it ends in, whatever crashed
 * @param applied  how often each path was really done in the end, whatever crashed
 */
public record Scenario(
        String name, String blocks, Map<String, List<Reply>> provider, List<Act> acts, String end, Map<String, Bounds> applied) {

    /** What the provider does with one request. */
    public enum Reply {
        NORMAL,
        /** 402, nothing done. */
        DECLINED,
        /** Does it and resets the connection without a byte. */
        DONE_THEN_RESET,
        /** Does it and answers only when {@link Act#CANCEL_ONCE_DELIVERED} has been acknowledged, or its asker is gone. */
        DONE_THEN_HELD
    }

    public enum Act {
        /** Cancel once a request has arrived at the provider, or the run waits for somebody. */
        CANCEL_ONCE_DELIVERED,
        /** Retry the run if it fails. */
        RETRY_ONCE_FAILED
    }

    public record Bounds(int least, int most) {
        static final Bounds ONCE = new Bounds(1, 1);
        static final Bounds AT_MOST_ONCE = new Bounds(0, 1);
        static final Bounds NEVER = new Bounds(0, 0);
    }

    /** An unsent intent lapses after this, a call ends after {@link #STEP_TIMEOUT_MILLIS}; then it is quiet. */
    public static final int SEND_DEADLINE_MILLIS = 1_500;

    public static final int STEP_TIMEOUT_MILLIS = 2_000;

    private static final String CHARGE = step("charge", "/charges", ",'amount':5");
    private static final String SHIP =
            step("ship", "/shipments", ",'charge':'{{ outputs.charge.body.id | outputs.charge.provider_receipt_id }}'");
    private static final String CHARGE_AND_SHIP = "[" + CHARGE + "," + SHIP + "]";
    private static final Map<String, Bounds> BOTH_ONCE = Map.of("/charges", Bounds.ONCE, "/shipments", Bounds.ONCE);

    public static final List<Scenario> ALL = List.of(
            new Scenario("one", "[" + CHARGE + "]", Map.of(), List.of(), "completed", Map.of("/charges", Bounds.ONCE)),
            new Scenario("fused", CHARGE_AND_SHIP, Map.of(), List.of(), "completed", BOTH_ONCE),
            new Scenario(
                    "parallel", "[{'type':'parallel','id':'both','branches':[[" + CHARGE + "],[" + step("ship", "/shipments", "") + "]]}]",
                    Map.of(), List.of(), "completed", BOTH_ONCE),
            new Scenario(
                    "cancel", CHARGE_AND_SHIP, Map.of("/charges", List.of(Reply.DONE_THEN_HELD)), List.of(Act.CANCEL_ONCE_DELIVERED),
                    "cancelled", Map.of("/charges", Bounds.AT_MOST_ONCE, "/shipments", Bounds.NEVER)),
            new Scenario(
                    "resolve", CHARGE_AND_SHIP, Map.of("/charges", List.of(Reply.DONE_THEN_RESET)), List.of(), "completed", BOTH_ONCE),
            new Scenario(
                    "retry", CHARGE_AND_SHIP, Map.of("/charges", List.of(Reply.DECLINED)), List.of(Act.RETRY_ONCE_FAILED), "completed",
                    BOTH_ONCE));

    private static String step(String id, String path, String body) {
        return "{'type':'step','id':'" + id + "','handler':'http_request','params':{'method':'POST','url':'{{ data.base }}" + path
                + "','body':{'order':'{{ data.order }}'" + body + "}},'retry':{'max_attempts':3,'initial_backoff':10},'timeout':"
                + STEP_TIMEOUT_MILLIS + ",'effect':{'settle':0}}";
    }

    /** @throws IllegalArgumentException when there is none of this name */
    public static Scenario named(String name) {
        return ALL.stream()
                .filter(one -> one.name.equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "no scenario " + name + "; there are " + ALL.stream().map(Scenario::name).toList()));
    }

    /** What is published. */
    public JsonNode document() {
        ObjectNode document = Json.NODES.objectNode().put("name", name);
        document.set("blocks", Json.parseDefinition(blocks.replace('\'', '"')));
        return document;
    }

    /** What a run starts with. */
    public static ObjectNode data(String base, String order) {
        return Json.NODES.objectNode().put("base", base).put("order", order);
    }
}

package dev.waybill.lab.program;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * The provider's behaviour for every position of a program: a function of the seed and the block path, so that interpreter, provider and
 * operator need not talk to each other. What it says last it says for ever, so that a request sent again after a crash changes nothing.
 */
public final class Script {
    /** What a person does with an effect that nobody knows the outcome of. */
    public enum Decision {
        NONE,
        /** committed, with the provider's id and answer. */
        COMMIT,
        /** verified, with the provider's answer. */
        VERIFY,
        /** abandoned, then resend. */
        RESEND,
        /** abandoned, then fail. */
        FAIL,
        /** Gives the lost output. */
        SUPPLY,
        LEAVE
    }

    /**
     * What a step can meet.
     *
     * @param passing what may come before, each at most {@code most} times in all
     * @param last    one of these ends it
     */
    record Plan(List<Reaction> passing, int most, List<Reaction> last) {}

    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final int[] NOES = {400, 402, 404, 409, 422};

    private final long seed;
    private final Map<String, Plan> plans = new HashMap<>();

    Script(long seed) {
        this.seed = seed;
    }

    void plan(String step, Plan plan) {
        plans.put(step, plan);
    }

    private SplittableRandom random(String path, int salt) {
        long hash = seed * 0x9E3779B97F4A7C15L + salt;
        for (int i = 0; i < path.length(); i++) {
            hash = (hash ^ path.charAt(i)) * 0x100000001B3L;
        }
        return new SplittableRandom(hash);
    }

    /** In the order of requests that reach the provider; the last one is repeated for ever. */
    public List<Reaction> reactions(String path) {
        Plan plan = plans.get(path.substring(path.lastIndexOf('/') + 1));
        if (plan == null) {
            throw new IllegalArgumentException("no effect stands at " + path);
        }
        SplittableRandom random = random(path, 1);
        List<Reaction> list = new ArrayList<>();
        int before = plan.passing.isEmpty() ? 0 : random.nextInt(plan.most + 1);
        for (int i = 0; i < before; i++) {
            list.add(plan.passing.get(random.nextInt(plan.passing.size())));
        }
        list.add(plan.last.get(random.nextInt(plan.last.size())));
        return List.copyOf(list);
    }

    /** @param request 0 for the first request of this position that is made, whatever attempt it belongs to */
    public Reaction reaction(String path, int request) {
        List<Reaction> list = reactions(path);
        return list.get(Math.min(request, list.size() - 1));
    }

    /** HTTP status of an answer; 0 = none is seen. */
    public int status(String path, Reaction reaction) {
        return reaction == Reaction.DECLINED ? NOES[random(path, 2).nextInt(NOES.length)] : reaction.status();
    }

    /** JSON body of an answer. */
    public ObjectNode body(String path, Reaction reaction) {
        SplittableRandom random = random(path, 3);
        ObjectNode body = NODES.objectNode();
        switch (reaction) {
            case OK, LOST_BOOKED, ERROR_BOOKED, BODY_CUT, LOST_LEFT_BOOKED, LOST, LOST_LEFT, LOST_WRITTEN_OFF, NOT_SENT -> {
                body.put("receipt_id", providerId(path)).put("ok", true).put("n", random.nextInt(10));
                body.put("tag", "t" + random.nextInt(4));
            }
            case REFUSED_IN_BODY -> body.put("ok", false).put("n", random.nextInt(10));
            case BAD_OUTPUT -> body.put("receipt_id", providerId(path)).put("ok", true).put("n", "many");
            case DECLINED, BUSY, UNAVAILABLE -> body.put("code", "no_" + status(path, reaction));
        }
        return body;
    }

    public String providerId(String path) {
        return "pr-" + Long.toHexString(random(path, 4).nextLong());
    }

    /** The output a person gives: what the provider has on record. */
    public ObjectNode output(String path) {
        ObjectNode output = NODES.objectNode().put("status", 200);
        output.putObject("headers");
        return output.set("body", body(path, Reaction.OK));
    }
}

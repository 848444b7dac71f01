package dev.waybill.lab.sim;

import dev.waybill.json.Json;
import dev.waybill.lab.sim.Callers.Told;
import dev.waybill.model.InstanceState;
import dev.waybill.operate.RunView;
import dev.waybill.operate.StartRequest;
import dev.waybill.operate.Started;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Starts one run under a key and asks again until it was told; now and then it thinks better of it. */
final class Client {
    private static final long MS = 1_000_000L;
    private static final String TENANT = "default";

    private final Callers callers;
    private final Tally tally;
    private final SplittableRandom random;
    private final String sequence;
    private final String key;
    private final JsonNode data;
    private final int mood;
    private @Nullable UUID run;
    private boolean done;
    private boolean meddled;

    Client(Callers callers, Tally tally, SplittableRandom random, String sequence, String key, JsonNode data) {
        this.callers = callers;
        this.tally = tally;
        this.random = random;
        this.sequence = sequence;
        this.key = key;
        this.data = data;
        this.mood = random.nextInt(12);
    }

    void start(long within) {
        callers.actor("client-" + key, () -> {
            callers.pause(random.nextLong(within));
            insist();
            meddle();
            done = true;
        });
    }

    boolean done() {
        return done;
    }

    /** The key, which is also what its data names the run. */
    String key() {
        return key;
    }

    /** The run it was told of. */
    @Nullable UUID run() {
        return run;
    }

    /** It asked for something else than that the run goes on by itself. */
    boolean meddled() {
        return meddled;
    }

    private void insist() {
        // A cancelled run ends at once, due or not; the checker would take its end for its beginning.
        long delay = mood > 1 && random.nextInt(6) == 0 ? random.nextLong(10, 3_000) : 0;
        ObjectNode context = Json.NODES.objectNode();
        context.set("data", data);
        StartRequest request = new StartRequest(
                TENANT, "default", null, sequence, null, context, null, key, "normal", Duration.ofMillis(delay));
        int twice = random.nextInt(5) == 0 ? 2 : 1;
        int told = 0;
        for (int tries = 0; told < twice; tries++) {
            ObjectNode[] asked = {Json.NODES.objectNode()};
            Told<Started> answer = callers.ask(
                    "start",
                    line -> asked[0] = line.put("key", key),
                    desks -> desks.runs().start(request));
            if (answer.answer() != null) {
                run = answer.answer().id();
                asked[0].put("id", run.toString());
                if (delay > 0) {
                    asked[0].put("delay_ms", delay);
                }
                told++;
                if (answer.answer().deduplicated()) {
                    tally.add("start deduplicated");
                }
                if (tries > 0 && told == 1) {
                    tally.add("start told only when asked again");
                }
            } else {
                callers.pause(random.nextLong(50 * MS, 1_500 * MS));
            }
        }
    }

    private void meddle() {
        switch (mood) {
            case 0, 1 -> {
                callers.pause(random.nextLong(4_000 * MS));
                signal("cancel");
            }
            case 2, 3 -> {
                callers.pause(random.nextLong(3_000 * MS));
                if (signal("pause")) {
                    callers.pause(random.nextLong(15_000 * MS));
                    signal("resume");
                }
            }
            default -> {}
        }
    }

    /** @return false when the run had ended before */
    private boolean signal(String signal) {
        UUID id = run;
        if (id == null) {
            return false;
        }
        meddled |= signal.equals("cancel");
        while (true) {
            Told<RunView> told = callers.ask(
                    "signal",
                    line -> line.put("id", id.toString()).put("signal", signal),
                    desks -> switch (signal) {
                        case "cancel" -> desks.runs().cancel(TENANT, id, key);
                        case "pause" -> desks.runs().pause(TENANT, id, key);
                        default -> desks.runs().resume(TENANT, id, key);
                    });
            if (told.ok()) {
                tally.add("signal " + signal + (told.answer() != null && told.answer().state() == InstanceState.RUNNING ? " of a running run" : ""));
                return true;
            }
            if (told.refusal() != null && (told.refusal().code().equals("RUN_ENDED") || told.refusal().code().equals("RUN_NOT_FOUND"))) {
                return false;
            }
            callers.pause(random.nextLong(100 * MS, 2_000 * MS));
        }
    }
}

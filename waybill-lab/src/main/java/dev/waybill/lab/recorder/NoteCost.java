package dev.waybill.lab.recorder;

import dev.waybill.json.Json;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome;
import dev.waybill.model.Reply;
import dev.waybill.recorder.FlightRecorder;
import dev.waybill.recorder.Flights;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;

/** What the four notes of one step cost on this machine, the outcome's text included. */
final class NoteCost {
    private static final int BATCHES = 41;
    private static final int BATCH = 2_000;

    private NoteCost() {}

    /** Median of batches, in microseconds a step; NaN where there can be no recorder. */
    static double microsPerStep(Path folder) {
        String body = "{\"id\":\"ch_0000000000000000000001\",\"status\":\"succeeded\",\"amount\":4200,\"currency\":\"EUR\",\"captured\":true}";
        Outcome outcome = new Outcome.Committed(
                Json.NODES.objectNode().put("status", 201).set("body", Json.parse(body)), "ch_1",
                new Reply(201, Map.of("content-type", List.of("application/json")), body.getBytes(StandardCharsets.UTF_8), false));
        InstanceKey run = new InstanceKey("default", new UUID(1, 2));
        FlightRecorder recorder = Flights.in(folder, "none", Flights.DEFAULT_BYTES).flatMap(it -> it.record(new Random())).orElse(null);
        if (recorder == null) {
            return Double.NaN;
        }
        double[] micros = new double[BATCHES];
        try (recorder) {
            for (int batch = 0; batch < BATCHES; batch++) {
                long began = System.nanoTime();
                for (int i = 0; i < BATCH; i++) {
                    UUID receipt = new UUID(batch, i);
                    recorder.intent(receipt, run.id(), run, "charge");
                    recorder.firstByte(receipt);
                    recorder.answered(receipt, outcome);
                    recorder.settled(receipt, true);
                }
                micros[batch] = (System.nanoTime() - began) / 1_000.0 / BATCH;
            }
        }
        Arrays.sort(micros);
        return micros[BATCHES / 2];
    }
}

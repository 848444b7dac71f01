package dev.waybill.lab.torture;

import dev.waybill.test.Behaviour;
import dev.waybill.test.Behaviour.Hold;
import dev.waybill.test.Behaviour.Wire;
import dev.waybill.test.Delivery;
import dev.waybill.test.FakeProvider;
import dev.waybill.test.Rule;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;

/**
 * The provider as a process of its own: {@code LEDGER SEED JDBC-URL USER PASSWORD}; see {@link Witness} for the last three. It prints {@code PORT n}, misbehaves with the mix of reliability.md section
 * 5.2 until a line {@code calm} comes, and ends with its standard input. Only steps that may be sent again carry a key, which it honours;
 * of any other a second send shows.
 */
public final class ProviderMain {
    /** An application lands at most this long after its request (ms): within the steps' settle time, so that quiet means quiet. */
    static final int LATEST_LANDING_MILLIS = 2_000;

    private static final int WITNESSES = 6;
    private static final long SILENCE_MILLIS = 4_000;

    private ProviderMain() {}

    public static void main(String[] arguments) throws IOException {
        long seed = Long.parseLong(arguments[1]);
        List<Witness> witnesses = new ArrayList<>();
        for (int i = 0; i < WITNESSES; i++) {
            witnesses.add(new Witness(arguments[2], arguments[3], arguments[4]));
        }
        FakeProvider provider = FakeProvider.builder()
                .ledger(Path.of(arguments[0]))
                .honouringKeys()
                .witness(delivery -> witnesses.get((int) (delivery.number() % WITNESSES)).stateOf(delivery))
                .start();
        provider.script(mix(seed));
        System.out.println("PORT " + provider.port());
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("calm")) {
                provider.script();
            }
        }
        Runtime.getRuntime().halt(0);
    }

    /** Percent of requests, from the top; the rest is served well. */
    private static Rule[] mix(long seed) {
        return new Rule[] {
            share(seed, 0, 5, Behaviour.applyThenDrop()),
            share(seed, 5, 9, Behaviour.dropBeforeApply()),
            share(seed, 9, 12, Behaviour.applyThenAnswer(500)),
            share(seed, 12, 14, Behaviour.answer(503)),
            share(seed, 14, 15, Behaviour.applyThenAnswer(503)),
            share(seed, 15, 16, Behaviour.answer(429)),
            share(seed, 16, 17, Behaviour.truncatedBody(400, 20)),
            share(seed, 17, 18, late(LATEST_LANDING_MILLIS / 2)),
            share(seed, 18, 19, late(LATEST_LANDING_MILLIS)),
            share(seed, 19, 20, Behaviour.normal().sentAs(new Wire.Silence(SILENCE_MILLIS))),
            share(seed, 20, 21, Behaviour.dropBeforeApply().sentAs(new Wire.Silence(SILENCE_MILLIS))),
            share(seed, 21, 26, Behaviour.normal().answeredAfter(Duration.ofMillis(800))),
        };
    }

    private static Behaviour late(long millis) {
        return Behaviour.normal().bookedOnlyAfter(new Hold.Passed(millis));
    }

    private static Rule share(long seed, int from, int below, Behaviour behaviour) {
        return Rule.on(delivery -> {
                    int drawn = draw(seed, delivery);
                    return from <= drawn && drawn < below;
                })
                .thenAlways(behaviour);
    }

    private static int draw(long seed, Delivery delivery) {
        String receipt = delivery.effectId();
        long bits = receipt == null ? delivery.number() : UUID.fromString(receipt).getLeastSignificantBits();
        return new SplittableRandom(seed ^ bits).nextInt(100);
    }
}

package dev.waybill.lab.sim;

import dev.waybill.lab.sim.SimProvider.Answer;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.Transport;
import dev.waybill.transport.WireAnswer;
import dev.waybill.transport.WireAnswer.Completeness;
import dev.waybill.transport.WireAnswer.Phase;
import dev.waybill.transport.WireRequest;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One process's network, with a boundary before the first byte, after the last one, and when the answer is complete. A process that dies
 * in between has, for the provider, either sent everything or nothing.
 */
final class CrashWire implements Transport {
    private static final long WAY_NANOS = 500_000;

    private final World world;
    private final World.Process process;
    private final SimProvider provider;
    private final BiConsumer<World.Process, String> at;
    private final BooleanSupplier holds;
    private final AddressPolicy policy = AddressPolicy.fromConfig(List.of("127.0.0.1:8080"), true);

    /** @param holds whether the provider keeps its answers to itself now */
    CrashWire(World world, World.Process process, SimProvider provider, BiConsumer<World.Process, String> at, BooleanSupplier holds) {
        this.world = world;
        this.process = process;
        this.provider = provider;
        this.at = at;
        this.holds = holds;
    }

    private static final class Line {
        @Nullable Answer answer;
        boolean closed;
    }

    @Override
    public AddressPolicy.Verdict vet(String url) {
        return policy.vet(url, host -> List.of());
    }

    @Override
    public WireAnswer send(WireRequest request) {
        String path = request.destination().toString().substring(SimTransport.ADDRESS.length());
        long deadline = world.nanos() + request.timeout().toNanos();
        world.await(null, WAY_NANOS);
        at.accept(process, "wire " + path + " connected");
        if (Thread.interrupted()) {
            return WireAnswer.notSent(WireAnswer.STOP_INTERRUPTED, "");
        }
        if (request.late().getAsBoolean()) {
            return WireAnswer.notSent(WireAnswer.STOP_LATE, "");
        }
        Line line = new Line();
        SimProvider.Request sent =
                new SimProvider.Request(request.method(), path, header(request, "Waybill-Effect-Id"), null, request.body());
        world.after(WAY_NANOS, () -> arrives(sent, line));
        at.accept(process, "wire " + path + " sent");
        world.await(() -> line.closed || (line.answer != null && !holds.getAsBoolean()), deadline - world.nanos());
        at.accept(process, "wire " + path + " answered");
        Answer answer = holds.getAsBoolean() ? null : line.answer;
        if (answer != null) {
            return new WireAnswer(Phase.ANSWERED, answer.status(), answer.headers(), answer.body(), Completeness.COMPLETE, "", "");
        }
        String stop = line.closed ? WireAnswer.STOP_CLOSED : Thread.interrupted() ? WireAnswer.STOP_INTERRUPTED : WireAnswer.STOP_TIMEOUT;
        return new WireAnswer(Phase.MAYBE_SENT, 0, Map.of(), new byte[0], Completeness.CUT, stop, "");
    }

    private void arrives(SimProvider.Request request, Line line) {
        Answer answer = provider.receive(request);
        world.after(WAY_NANOS, () -> {
            line.answer = answer;
            line.closed = answer == null;
        });
    }

    private static @Nullable String header(WireRequest request, String name) {
        return request.headers().stream()
                .filter(header -> header.getKey().equalsIgnoreCase(name))
                .map(Map.Entry::getValue)
                .findFirst()
                .orElse(null);
    }
}

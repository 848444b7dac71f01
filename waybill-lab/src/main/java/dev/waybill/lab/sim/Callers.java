package dev.waybill.lab.sim;

import dev.waybill.json.Json;
import dev.waybill.lab.sim.SimNode.Desks;
import dev.waybill.model.WaybillException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** How people reach an engine: any that runs, over a connection that ends with it, with a patience of their own; and their journal. */
final class Callers {
    private static final long PATIENCE_NANOS = 5_000_000_000L;

    private final World world;
    private final World.Process outside;
    private final List<SimNode> nodes;
    private final SplittableRandom random;
    private final List<ObjectNode> journal = new ArrayList<>();

    Callers(World world, World.Process outside, List<SimNode> nodes, SplittableRandom random) {
        this.world = world;
        this.outside = outside;
        this.nodes = nodes;
        this.random = random;
    }

    List<ObjectNode> journal() {
        return journal;
    }

    void actor(String name, Runnable body) {
        world.thread(outside, name, body).start();
    }

    void pause(long nanos) {
        world.await(null, nanos);
    }

    /** The answer, a refusal, or neither: nobody knows. */
    record Told<T>(@Nullable T answer, @Nullable WaybillException refusal, boolean asked) {
        boolean ok() {
            return answer != null;
        }

        /** Whoever refused with a 4xx has done nothing. */
        boolean fail() {
            return refusal != null && refusal.status() < 500;
        }
    }

    private static final class Box<T> {
        @Nullable T answer;
        @Nullable WaybillException refusal;
        boolean done;
    }

    /** Asks one engine and waits for its word. */
    <T> Told<T> ask(String what, Function<Desks, T> call) {
        List<SimNode> running = nodes.stream().filter(SimNode::running).toList();
        if (running.isEmpty()) {
            return new Told<>(null, null, false);
        }
        SimNode node = running.get(random.nextInt(running.size()));
        Desks desks = node.desks();
        World.Process process = node.process();
        Box<T> box = new Box<>();
        if (desks != null) {
            world.thread(process, "api-" + what, () -> {
                        try {
                            box.answer = call.apply(desks);
                        } catch (WaybillException e) {
                            box.refusal = e;
                        } catch (RuntimeException e) {
                            world.note(process.name, what + " ends with " + e);
                        }
                        box.done = true;
                    })
                    .start();
            world.await(() -> box.done || process.dead(), PATIENCE_NANOS);
        }
        return new Told<>(box.answer, box.refusal, true);
    }

    /** Asks and writes down what was asked and what was told. */
    <T> Told<T> ask(String op, Consumer<ObjectNode> more, Function<Desks, T> call) {
        ObjectNode line = Json.NODES.objectNode().put("op", op).put("at", world.instant().toString()).put("tenant", "default");
        line.put("result", "info"); // until it is told, and for ever if it is not
        more.accept(line);
        journal.add(line);
        Told<T> told = ask(op, call);
        if (!told.asked()) {
            journal.removeIf(one -> one == line);
            return told;
        }
        line.put("result", told.ok() ? "ok" : told.fail() ? "fail" : "info");
        line.put("answered", told.ok() || told.refusal() != null ? world.instant().toString() : null);
        if (told.refusal() != null) {
            line.put("error", told.refusal().code());
        }
        more.accept(line);
        world.note("people", op + " " + line.path("signal").asString("") + line.path("state").asString("") + " -> " + line.path("result").asString()
                + (told.refusal() == null ? "" : " " + told.refusal().code()));
        return told;
    }
}

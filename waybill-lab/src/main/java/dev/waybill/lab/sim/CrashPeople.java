package dev.waybill.lab.sim;

import dev.waybill.json.Json;
import dev.waybill.lab.points.Scenario;
import dev.waybill.lab.points.Scenario.Act;
import dev.waybill.lab.sim.SimNode.Desks;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Resolution;
import dev.waybill.operate.RunView;
import dev.waybill.operate.StartRequest;
import dev.waybill.operate.Started;
import dev.waybill.store.JournalRow;
import dev.waybill.store.Queries.EffectView;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * The people of a {@link CrashTrial}, who outlive every process: they start the run under a key, do the scenario's acts, and resolve what
 * is unknown by the provider's ledger. What was not acknowledged they ask again.
 */
final class CrashPeople {
    private static final long MS = 1_000_000L;
    private static final String ORDER = "order-1";

    private final World world;
    private final Scenario scenario;
    private final SimProvider provider;
    private final Supplier<World.Process> process;
    private final Supplier<@Nullable Desks> desks;
    private final World.Process outside = new World.Process("people");
    private final List<ObjectNode> journal = new ArrayList<>();
    private final Set<Act> done = new HashSet<>();
    private boolean holding;
    private boolean over;

    CrashPeople(
            World world, Scenario scenario, SimProvider provider, Supplier<World.Process> process, Supplier<@Nullable Desks> desks) {
        this.world = world;
        this.scenario = scenario;
        this.provider = provider;
        this.process = process;
        this.desks = desks;
        this.holding = scenario.provider().values().stream().anyMatch(replies -> replies.contains(Scenario.Reply.DONE_THEN_HELD));
    }

    void start() {
        world.thread(outside, "client", () -> {
                    see();
                    over = true;
                })
                .start();
    }

    boolean done() {
        return over;
    }

    boolean holdsTheAnswer() {
        return holding;
    }

    /** Whoever waited for the answer is dead. */
    void gone() {
        if (!provider.ledger().isEmpty()) {
            holding = false;
        }
    }

    /** What was asked and acknowledged, for the checker. */
    List<ObjectNode> journal() {
        return journal;
    }

    private void see() {
        StartRequest request = StartRequest.of(scenario.name(), Scenario.data(SimTransport.ADDRESS, ORDER)).withKey(ORDER);
        String at = world.instant().toString();
        Started started = insist(desk -> desk.runs().start(request));
        UUID run = started.id();
        note(at, "start").put("key", ORDER).put("id", run.toString());
        if (scenario.acts().contains(Act.CANCEL_ONCE_DELIVERED)) {
            cancel(run);
        }
        while (true) {
            RunView view = insist(desk -> desk.runs().get(CrashTrial.TENANT, run));
            List<EffectView> open = insist(desk -> desk.runs().effects(CrashTrial.TENANT, run)).stream().filter(CrashPeople::open).toList();
            boolean retries = scenario.acts().contains(Act.RETRY_ONCE_FAILED) && !done.contains(Act.RETRY_ONCE_FAILED);
            if (view.state() == InstanceState.FAILED && retries) {
                retry(run, "once");
                done.add(Act.RETRY_ONCE_FAILED);
            } else if (!open.isEmpty()) {
                open.forEach(effect -> resolve(effect, view.state().terminal() || view.cancelRequested()));
            } else if (view.state().terminal()) {
                return;
            } else if (view.reasons().toString().contains("crash_loop")) {
                retry(run, "crash-loop-" + world.nanos());
            }
            world.await(null, 5 * MS);
        }
    }

    private static boolean open(EffectView effect) {
        return effect.state() == EffectState.UNKNOWN || lost(effect);
    }

    private static boolean lost(EffectView effect) {
        JournalRow last = effect.last();
        return last != null && last.outputState() == JournalRow.OutputState.LOST;
    }

    private void cancel(UUID run) {
        while (provider.ledger().isEmpty() && !insist(desk -> resting(desk.runs().get(CrashTrial.TENANT, run)))) {
            world.await(null, MS);
        }
        signal("cancel", run, desk -> desk.runs().cancel(CrashTrial.TENANT, run, "lab"));
        holding = false;
    }

    private static boolean resting(RunView run) {
        return run.state().terminal() || run.state() == InstanceState.PAUSED
                || (run.state() == InstanceState.WAITING && run.nextFireAt() == null);
    }

    private void retry(UUID run, String key) {
        signal("retry", run, desk -> desk.runs().retry(CrashTrial.TENANT, run, "lab", key));
    }

    private void signal(String signal, UUID run, Function<Desks, RunView> deed) {
        String at = world.instant().toString();
        try {
            insist(deed);
            note(at, "signal").put("signal", signal).put("id", run.toString());
        } catch (WaybillException e) {
            // Who did it died before it said so.
            if (!e.code().equals("RUN_ENDED")) {
                throw e;
            }
        }
    }

    private void resolve(EffectView effect, boolean ended) {
        UUID id = effect.receipt().id();
        Instant quiet = effect.receipt().quietAt();
        ObjectNode booked = provider.application(id.toString(), effect.receipt().request());
        if (booked == null && quiet != null && !world.instant().isAfter(quiet)) {
            return; // too early to say that it is not there
        }
        String at = world.instant().toString();
        try {
            if (lost(effect)) {
                ObjectNode output = output(booked == null ? Json.NODES.objectNode() : booked);
                insist(desk -> desk.effects().supplyOutput(CrashTrial.TENANT, id, output, "the provider's ledger", null, "lab"));
                return;
            }
            Resolution resolution = booked != null
                    ? new Resolution(
                            EffectState.COMMITTED, "stands in the provider's ledger", null, booked.path("id").asString(), output(booked), null,
                            "lab", "committed-" + id)
                    : new Resolution(
                            EffectState.ABANDONED, "not in the provider's ledger", null, null, null,
                            ended ? Resolution.Then.NONE : Resolution.Then.RESEND, "lab", "abandoned-" + id);
            insist(desk -> desk.effects().resolve(CrashTrial.TENANT, id, resolution));
            note(at, "resolve").put("effect", id.toString()).put("state", resolution.state().wire());
        } catch (WaybillException e) {
            // A late answer was faster, or another look is needed: the next round sees.
            if (e.status() != 409) {
                throw e;
            }
        }
    }

    private static ObjectNode output(ObjectNode booked) {
        ObjectNode output = Json.NODES.objectNode().put("status", 200);
        output.set("body", booked);
        return output;
    }

    private ObjectNode note(String at, String op) {
        ObjectNode line = Json.NODES.objectNode().put("op", op).put("result", "ok").put("at", at);
        line.put("answered", world.instant().toString()).put("tenant", CrashTrial.TENANT);
        journal.add(line);
        return line;
    }

    private static final class Box<T> {
        @Nullable T answer;
        @Nullable RuntimeException refusal;
    }

    /** Asks the process that lives until one of them says something. */
    private <T> T insist(Function<Desks, T> call) {
        while (true) {
            Desks desk = desks.get();
            World.Process asked = process.get();
            Box<T> box = new Box<>();
            if (desk != null) {
                world.thread(asked, "api", () -> {
                            try {
                                box.answer = call.apply(desk);
                            } catch (RuntimeException e) {
                                box.refusal = e;
                            }
                        })
                        .start();
                world.await(() -> box.answer != null || box.refusal != null || asked.dead(), Long.MAX_VALUE);
            }
            if (box.answer != null) {
                return box.answer;
            }
            if (box.refusal != null) {
                throw box.refusal;
            }
            world.await(null, MS);
        }
    }
}

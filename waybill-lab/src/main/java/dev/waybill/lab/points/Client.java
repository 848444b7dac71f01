package dev.waybill.lab.points;

import dev.waybill.Waybill;
import dev.waybill.json.Json;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Resolution;
import dev.waybill.operate.RunView;
import dev.waybill.operate.StartRequest;
import dev.waybill.store.JournalRow;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import dev.waybill.test.Delivery;
import dev.waybill.test.FakeProvider;
import dev.waybill.test.LedgerEntry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The people of a trial, who outlive every machine: they start the run, do the scenario's acts, and resolve what is unknown by the
 * provider's ledger. What a machine did not acknowledge before it died they ask of the next one again, with the same key.
 */
final class Client {
    private static final String TENANT = "default";
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int TRIES = 40;

    private final Scenario scenario;
    private final FakeProvider provider;
    private final Ground ground;
    private final AtomicLong connections;
    private final String order;
    private final Set<Scenario.Act> done = new HashSet<>();
    private final List<JsonNode> journal = new ArrayList<>();
    private @Nullable UUID run;

    /** @param connections how many came to the provider */
    Client(Scenario scenario, FakeProvider provider, Ground ground, AtomicLong connections, String order) {
        this.scenario = scenario;
        this.provider = provider;
        this.ground = ground;
        this.connections = connections;
        this.order = order;
    }

    @Nullable UUID run() {
        return run;
    }

    /** For the checker: what was asked and acknowledged. */
    synchronized List<JsonNode> journal() {
        return List.copyOf(journal);
    }

    /**
     * Sees the run to its end, or to a wait in which nobody has anything to do.
     *
     * @throws IllegalStateException when it does not get there
     */
    RunView see(Waybill engine) {
        UUID id = start(engine);
        if (wants(Scenario.Act.CANCEL_ONCE_DELIVERED)) {
            cancel(engine, id);
        }
        for (int round = 0; round < TRIES; round++) {
            RunView view = certain(() -> engine.runs().await(TENANT, id, PATIENCE));
            if (view.state() == InstanceState.FAILED && wants(Scenario.Act.RETRY_ONCE_FAILED)) {
                asked("signal", "retry", () -> engine.runs().retry(TENANT, id, "lab", "retry-" + order));
                done.add(Scenario.Act.RETRY_ONCE_FAILED);
                continue;
            }
            List<EffectView> open = certain(() -> engine.runs().effects(TENANT, id)).stream().filter(Client::open).toList();
            if (open.isEmpty()) {
                return view;
            }
            open.forEach(effect -> resolve(engine, effect, view.state().terminal() || view.cancelRequested()));
        }
        throw new IllegalStateException("the run does not come to rest, however often it is resolved");
    }

    private boolean wants(Scenario.Act act) {
        return scenario.acts().contains(act) && !done.contains(act);
    }

    private static boolean open(EffectView effect) {
        return effect.state() == EffectState.UNKNOWN || lost(effect);
    }

    private static boolean lost(EffectView effect) {
        return effect.last() != null && effect.last().outputState() == JournalRow.OutputState.LOST;
    }

    private UUID start(Waybill engine) {
        UUID known = run;
        if (known != null) {
            return known;
        }
        StartRequest request = StartRequest.of(scenario.name(), Scenario.data("http://127.0.0.1:" + provider.port(), order)).withKey(order);
        Instant at = ground.clock().instant();
        UUID started = certain(() -> engine.runs().start(request)).id();
        run = started;
        note(at, "start").put("key", order).put("id", started.toString());
        return started;
    }

    private void cancel(Waybill engine, UUID id) {
        // Delivered, or the run came to rest because somebody died before that.
        while (provider.seen(this::mine) == 0 && !resting(certain(() -> engine.runs().get(TENANT, id)))) {
            pause();
        }
        try {
            asked("signal", "cancel", () -> engine.runs().cancel(TENANT, id, "lab"));
        } catch (WaybillException e) {
            // The machine that did it died before it said so.
            if (!e.code().equals("RUN_ENDED")) {
                throw e;
            }
        }
        done.add(Scenario.Act.CANCEL_ONCE_DELIVERED);
        provider.releaseAll();
    }

    private static boolean resting(RunView run) {
        return run.state().terminal() || run.state() == InstanceState.PAUSED
                || (run.state() == InstanceState.WAITING && run.nextFireAt() == null);
    }

    private boolean mine(Delivery delivery) {
        return delivery.text().contains("\"" + order + "\"");
    }

    private void resolve(Waybill engine, EffectView effect, boolean ended) {
        UUID id = effect.receipt().id();
        JsonNode booked = booked(id);
        if (booked == null && effect.receipt().quietAt() != null) {
            awaitQuiet(effect.receipt().quietAt());
            booked = booked(id);
        }
        try {
            if (lost(effect)) {
                JsonNode output = output(booked == null ? Json.NODES.objectNode() : booked);
                certain(() -> engine.effects().supplyOutput(TENANT, id, output, "the provider's ledger", null, "lab"));
                return;
            }
            Resolution resolution = booked != null
                    ? new Resolution(
                            EffectState.COMMITTED, "stands in the provider's ledger", null, booked.path("id").asString(), output(booked), null,
                            "lab", "committed-" + id)
                    : new Resolution(
                            EffectState.ABANDONED, "not in the provider's ledger", null, null, null,
                            ended ? Resolution.Then.NONE : Resolution.Then.RESEND, "lab", "abandoned-" + id);
            Instant at = ground.clock().instant();
            certain(() -> engine.effects().resolve(TENANT, id, resolution));
            note(at, "resolve").put("effect", id.toString()).put("state", resolution.state().wire());
        } catch (WaybillException e) {
            // A late answer was faster, or another look is needed: the next round sees.
            if (e.status() != 409) {
                throw e;
            }
        }
    }

    private static ObjectNode output(JsonNode booked) {
        return Json.NODES.objectNode().put("status", 201).set("body", booked);
    }

    /** Nothing of it can arrive any more, and the provider has dealt with all that did. */
    private void awaitQuiet(Instant quietAt) {
        long until = System.nanoTime() + PATIENCE.toNanos();
        while (!provider.idleAfter(connections.get())) {
            if (System.nanoTime() - until > 0) {
                throw new IllegalStateException("the provider still has an open connection");
            }
            pause();
        }
        try {
            ground.passTime(quietAt);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private @Nullable JsonNode booked(UUID receipt) {
        return provider.ledger().stream()
                .filter(entry -> entry.kind() == LedgerEntry.Kind.APPLY && receipt.toString().equals(entry.effectId()))
                .map(LedgerEntry::answer)
                .findFirst()
                .orElse(null);
    }

    private void asked(String op, String signal, Supplier<RunView> deed) {
        Instant at = ground.clock().instant();
        RunView view = certain(deed);
        note(at, op).put("signal", signal).put("id", view.id().toString());
    }

    private synchronized ObjectNode note(Instant at, String op) {
        ObjectNode line = Json.NODES.objectNode().put("op", op).put("result", "ok").put("at", at.toString());
        line.put("answered", ground.clock().instant().toString()).put("tenant", TENANT);
        journal.add(line);
        return line;
    }

    /** As a client would: what the database refused or left open is asked again. */
    private static <T> T certain(Supplier<T> deed) {
        for (int i = 1; ; i++) {
            try {
                return deed.get();
            } catch (StoreException | UnclearCommitException e) {
                if (i == TRIES) {
                    throw e;
                }
                pause();
            }
        }
    }

    private static void pause() {
        LockSupport.parkNanos(2_000_000);
    }
}

package dev.waybill.lab.sim;

import dev.waybill.json.Json;
import dev.waybill.lab.program.Script;
import dev.waybill.lab.sim.Callers.Told;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.operate.EffectCase;
import dev.waybill.operate.Resolution;
import dev.waybill.operate.Resolution.Then;
import dev.waybill.operate.RunView;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.Queries.InstanceFilter;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The person who empties the queue: looks into the provider's ledger once an effect is quiet, and says what stands there. */
final class Person {
    private static final long MS = 1_000_000L;
    private static final String TENANT = "default";

    private final Callers callers;
    private final World world;
    private final SimProvider provider;
    private final Tally tally;
    private final SplittableRandom random;
    private final Duration patience;
    private final BooleanSupplier calm;

    /**
     * @param patience how long after it is quiet an effect is left to the engine
     * @param calm     nothing more goes wrong, and nobody else will steer the runs
     */
    Person(
            Callers callers,
            World world,
            SimProvider provider,
            Tally tally,
            SplittableRandom random,
            Duration patience,
            BooleanSupplier calm) {
        this.patience = patience;
        this.callers = callers;
        this.world = world;
        this.provider = provider;
        this.tally = tally;
        this.random = random;
        this.calm = calm;
    }

    void start() {
        callers.actor("operator", () -> {
            while (true) {
                callers.pause(random.nextLong(300 * MS, 3_000 * MS));
                queue();
                stopped();
            }
        });
    }

    private void queue() {
        EffectFilter open = new EffectFilter(
                TENANT, true, Set.of(), null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, 1_000);
        Told<List<EffectView>> queue = callers.ask("queue", desks -> desks.effects().list(open));
        if (queue.answer() != null) {
            queue.answer().forEach(this::look);
        }
    }

    private void look(EffectView effect) {
        Instant quiet = effect.receipt().quietAt();
        if (quiet == null) {
            return;
        }
        UUID id = effect.receipt().id();
        if (!world.instant().isAfter(quiet.plus(patience))) {
            // Too early: it must be refused. Not where a script counts the bookings, nor of what was done: an engine that stands still may
            // hear it only when it is no longer too early, and then what was done is done twice by the person's mistake.
            boolean undone = provider.scriptless() && provider.application(id.toString(), effect.receipt().request()) == null;
            if (undone && random.nextInt(8) == 0 && effect.state() == EffectState.UNKNOWN && world.instant().isBefore(quiet.minusSeconds(1))) {
                resolve(id, EffectState.ABANDONED, null, null, Then.RESEND);
            }
            return;
        }
        if (scripted(effect, id)) {
            return;
        }
        ObjectNode applied = provider.application(id.toString(), effect.receipt().request());
        if (effect.state() != EffectState.UNKNOWN) {
            if (applied != null) {
                ObjectNode output = Json.NODES.objectNode().put("status", 200);
                output.set("body", applied);
                supply(id, output);
            }
        } else if (applied != null) {
            ObjectNode output = Json.NODES.objectNode().put("status", 200);
            output.set("body", applied);
            resolve(id, EffectState.COMMITTED, applied.path("id").asString(), output, null);
        } else {
            Then then = switch (random.nextInt(6)) {
                case 0 -> Then.FAIL;
                case 1 -> Then.NONE;
                default -> Then.RESEND;
            };
            resolve(id, EffectState.ABANDONED, null, null, then);
        }
    }

    /** As the script of a generated program has it. */
    private boolean scripted(EffectView effect, UUID id) {
        JsonNode request = Json.parse(effect.receipt().request());
        JsonNode body = request.path("body");
        String url = request.path("url").asString("");
        String run = body.isObject() ? body.path("run").asString("") : SimProvider.query(url, "run");
        String at = effect.receipt().path();
        Script.Decision decision = provider.decision(run, at, id);
        Script script = provider.script(run);
        if (decision == null || script == null) {
            return false;
        }
        if (effect.state() != EffectState.UNKNOWN) {
            supply(id, script.output(at));
            return true;
        }
        switch (decision) {
            case COMMIT -> resolve(id, EffectState.COMMITTED, script.providerId(at), script.output(at), null);
            case VERIFY -> resolve(id, EffectState.VERIFIED, script.providerId(at), script.output(at), null);
            case RESEND -> resolve(id, EffectState.ABANDONED, null, null, Then.RESEND);
            case FAIL -> resolve(id, EffectState.ABANDONED, null, null, Then.FAIL);
            case NONE, SUPPLY, LEAVE -> {}
        }
        return true;
    }

    private void supply(UUID id, JsonNode output) {
        callers.ask(
                "supply",
                line -> line.put("effect", id.toString()),
                desks -> desks.effects().supplyOutput(TENANT, id, output, "from the provider's record", null, "op"));
    }

    private void resolve(UUID id, EffectState state, @Nullable String providerId, @Nullable JsonNode output, @Nullable Then then) {
        Resolution resolution = new Resolution(state, "the provider's record", null, providerId, output, then, "op");
        Told<EffectCase> told = callers.ask(
                "resolve",
                line -> line.put("effect", id.toString()).put("state", state.wire()),
                desks -> desks.effects().resolve(TENANT, id, resolution));
        if (told.ok()) {
            tally.add("resolved " + state.wire() + (then == null ? "" : " then " + then.name().toLowerCase(java.util.Locale.ROOT)));
        } else if (told.refusal() != null) {
            tally.add("resolve refused " + told.refusal().code());
        }
    }

    /** Runs that wait for a person for another reason than an unknown effect. */
    private void stopped() {
        InstanceFilter waiting =
                new InstanceFilter(TENANT, Set.of(InstanceState.WAITING, InstanceState.PAUSED), null, Map.of(), null, 1_000, 0);
        Told<List<RunView>> runs = callers.ask("list", desks -> desks.runs().list(waiting));
        if (runs.answer() == null) {
            return;
        }
        for (RunView run : runs.answer()) {
            String reasons = run.reasons().toString();
            if (reasons.contains("ledger_may_be_behind")) {
                tally.add("ledger accepted");
                callers.ask("accept", desks -> desks.runs().acceptLedger("op"));
                return;
            }
            if (reasons.contains("\"paused\"") && calm.getAsBoolean()) {
                // A pause whose caller had given up may land after the resume that followed it.
                Told<RunView> told = callers.ask(
                        "signal",
                        line -> line.put("id", run.id().toString()).put("signal", "resume"),
                        desks -> desks.runs().resume(TENANT, run.id(), "op"));
                if (told.ok()) {
                    tally.add("a late pause resumed");
                }
            }
            if (reasons.contains("effect_abandoned") || reasons.contains("crash_loop")) {
                Told<RunView> told = callers.ask(
                        "signal",
                        line -> line.put("id", run.id().toString()).put("signal", "retry"),
                        desks -> desks.runs().retry(TENANT, run.id(), "op", null));
                if (told.ok()) {
                    tally.add("retried by a person");
                }
            }
        }
    }
}

package dev.waybill.lab.sim;

import dev.waybill.model.EffectState;
import dev.waybill.store.Commit;
import dev.waybill.store.JournalRow;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Queries;
import dev.waybill.store.SequenceStore;
import dev.waybill.store.Start;
import dev.waybill.store.Store;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One process's road to the database, every verb of which takes the same time. What moves a run is a boundary before it is done and
 * another one after it; a poll that finds nothing and whatever only reads is none, for nothing is lost there that is not lost at the next.
 */
final class CrashRoad implements InvocationHandler {
    private static final long WAY_NANOS = 300_000;

    private final World world;
    private final World.Process process;
    private final Cluster cluster;
    private final BiConsumer<World.Process, String> at;
    private final Object target;

    private CrashRoad(World world, World.Process process, Cluster cluster, BiConsumer<World.Process, String> at, Object target) {
        this.world = world;
        this.process = process;
        this.cluster = cluster;
        this.at = at;
        this.target = target;
    }

    /** @param at a boundary; does not return to a process that dies there */
    static Store of(World world, World.Process process, Cluster cluster, BiConsumer<World.Process, String> at) {
        return road(Store.class, new CrashRoad(world, process, cluster, at, cluster.store()));
    }

    private static <T> T road(Class<T> type, CrashRoad handler) {
        return type.cast(Proxy.newProxyInstance(CrashRoad.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        switch (method.getName()) {
            case "queries" -> {
                return road(Queries.class, new CrashRoad(world, process, cluster, at, cluster.store().queries()));
            }
            case "sequences" -> {
                return road(SequenceStore.class, new CrashRoad(world, process, cluster, at, cluster.store().sequences()));
            }
            case "description", "toString" -> {
                return "simulated";
            }
            case "onNotification" -> {
                return null; // a hint; the engine's own wake-ups and polls do without
            }
            case "onCommitConnection", "migrate", "close", "durability" -> {
                return done(method, arguments);
            }
            default -> {
                world.await(null, WAY_NANOS);
                String verb = name(method, arguments);
                if (verb != null) {
                    at.accept(process, verb + " before");
                }
                Object answer = done(method, arguments);
                cluster.done(process, method.getName(), arguments, answer);
                if (verb != null) {
                    at.accept(process, verb + " after");
                }
                world.await(null, WAY_NANOS);
                return answer;
            }
        }
    }

    /** What it does to which block, whatever the attempt; null = no boundary. */
    private @Nullable String name(Method method, Object @Nullable [] arguments) {
        Object batch = arguments == null || arguments.length < 2 ? null : arguments[1];
        return switch (method.getName()) {
            case "start" -> batch instanceof List<?> starts && starts.getFirst() instanceof Start ? "start" : null;
            case "claim" -> cluster.store().millisUntilNextDue(Duration.ofMillis(1)) == 0 ? "claim" : null;
            case "commit" -> "commit" + (batch instanceof List<?> commits ? told(commits) : "");
            case "settleFromOutside" -> "outside" + (arguments != null && arguments[0] instanceof OutsideMove move ? told(move) : "");
            default -> null;
        };
    }

    private static String told(List<?> batch) {
        TreeSet<String> parts = new TreeSet<>();
        for (Object member : batch) {
            Commit commit = (Commit) member;
            commit.settles().forEach(row -> parts.add(told(row)));
            commit.intents().forEach(row -> parts.add(" " + row.path() + ">dispatched"));
            if (commit.release() != null) {
                parts.add(" release");
            }
        }
        return String.join("", parts);
    }

    private static String told(OutsideMove move) {
        TreeSet<String> parts = new TreeSet<>();
        move.journal().forEach(row -> parts.add(told(row)));
        if (move.cancel() != null) {
            parts.add(" cancel");
        }
        return String.join("", parts);
    }

    private static String told(JournalRow row) {
        // However an answer settles it, it is settled; unknown is another window.
        return " " + row.path() + (row.to() == EffectState.UNKNOWN ? ">unknown" : ">settled");
    }

    private @Nullable Object done(Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}

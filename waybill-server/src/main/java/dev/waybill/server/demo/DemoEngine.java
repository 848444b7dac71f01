package dev.waybill.server.demo;

import dev.waybill.Waybill;
import dev.waybill.engine.CrashPoints;
import dev.waybill.model.InstanceKey;
import dev.waybill.server.ConfigLoader;
import dev.waybill.server.Server;
import io.javalin.util.JavalinException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * The real server as the demo's child: {@code PORT STORE HOST:PORT [POINT RUN_KEY]}. The last two make it stop for ever when the charge
 * of that run reaches that point of the protocol, after it has said so: the director's kill -9 then hits exactly there. It ends with
 * its standard input.
 */
public final class DemoEngine {
    private static final int PORTS_TRIED = 100;

    private DemoEngine() {}

    public static void main(String[] arguments) throws InterruptedException {
        Children.endWithStandardInput();
        CompletableFuture<Waybill> engine = new CompletableFuture<>();
        CrashPoints points = arguments.length > 3 ? stopAt(CrashPoints.Point.valueOf(arguments[3]), arguments[4], engine) : CrashPoints.NONE;
        Map<String, List<String>> flags = new HashMap<>();
        flags.put("store", List.of(arguments[1]));
        flags.put("allow_addresses", List.of(arguments[2]));
        flags.put("insecure", List.of("true"));
        Server server = start(Integer.parseInt(arguments[0]), flags, points);
        engine.complete(server.engine());
        System.out.println("listening " + server.port());
        new CountDownLatch(1).await();
    }

    /** Somebody may take a port between the look and the listening. */
    private static Server start(int wanted, Map<String, List<String>> flags, CrashPoints points) {
        for (int port = free(wanted); ; port = free(port + 1)) {
            flags.put("port", List.of(Integer.toString(port)));
            try {
                // The user's own WAYBILL_* variables belong to another server.
                return Server.start(ConfigLoader.load(flags, Map.of()), InstantSource.system(), builder -> builder.crashPoints(points));
            } catch (JavalinException taken) {
                if (port == 0 || port >= wanted + PORTS_TRIED) {
                    throw taken;
                }
            }
        }
    }

    private static CrashPoints stopAt(CrashPoints.Point where, String runKey, CompletableFuture<Waybill> engine) {
        return (point, instance, path) -> {
            if (point == where && path.equals("charge") && runKey.equals(key(engine.join(), instance))) {
                Children.stopForEver(where.name());
            }
        };
    }

    private static @Nullable String key(Waybill engine, InstanceKey instance) {
        return engine.runs().get(instance.tenant(), instance.id()).idempotencyKey();
    }

    /** The first port from {@code wanted} on that nobody listens on; any when all are taken. */
    private static int free(int wanted) {
        for (int port = wanted; port < wanted + PORTS_TRIED; port++) {
            try (ServerSocket socket = new ServerSocket()) {
                socket.setReuseAddress(true); // connections of the engine that was killed may linger
                socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
                return port;
            } catch (IOException taken) {
                // The next one.
            }
        }
        return 0;
    }
}

package dev.waybill.test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.concurrent.atomic.AtomicInteger;

/** Loopback ports that stay ours: below the range from which the kernel draws client ports, so that nobody takes one over a restart. */
public final class Ports {
    private static final int FIRST = 20_000;
    private static final int COUNT = 10_000;
    private static final AtomicInteger NEXT = new AtomicInteger((int) (ProcessHandle.current().pid() * 31 % COUNT));

    private Ports() {}

    /** A port nobody listens on now. */
    public static int free() {
        for (int i = 0; i < COUNT; i++) {
            int candidate = FIRST + Math.floorMod(NEXT.getAndIncrement(), COUNT);
            if (isFree(candidate)) {
                return candidate;
            }
        }
        throw new IllegalStateException("no free port between " + FIRST + " and " + (FIRST + COUNT - 1));
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException taken) {
            return false;
        }
    }
}

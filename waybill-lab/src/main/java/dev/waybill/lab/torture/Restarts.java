package dev.waybill.lab.torture;

import java.util.ArrayList;
import java.util.List;

/** The supervisor of the engines: whoever has ended is started again while other things happen elsewhere. */
final class Restarts {
    private final List<Thread> running = new ArrayList<>();

    /** The node is free again when it serves. */
    synchronized void restart(Node node) {
        running.removeIf(thread -> !thread.isAlive());
        running.add(Thread.ofPlatform().daemon().name("restart-" + node.name()).start(() -> startNow(node)));
    }

    void startNow(Node node) {
        try {
            node.start();
        } finally {
            node.give();
        }
    }

    void await() throws InterruptedException {
        List<Thread> all;
        synchronized (this) {
            all = List.copyOf(running);
        }
        for (Thread thread : all) {
            thread.join();
        }
    }
}

package dev.waybill.server.demo;

import dev.waybill.test.Processes;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** What the demo's processes agree on. */
final class Children {
    /** A loaded machine is no failure. */
    static final Duration PATIENCE = Duration.ofSeconds(90);

    /** Comes before the point a child has stopped at. */
    static final String STOPPED = "AT ";

    private Children() {}

    static Processes.Child start(Class<?> main, List<String> arguments) {
        return Processes.java(main, List.of("-Xmx128m"), arguments);
    }

    /** In the child: a director that was killed takes its children along. */
    static void endWithStandardInput() {
        Thread.ofPlatform().daemon().name("demo-stdin").start(() -> {
            try {
                System.in.transferTo(OutputStream.nullOutputStream());
            } catch (IOException broken) {
                // As good as ended.
            }
            Runtime.getRuntime().halt(0);
        });
    }

    /** In the child: says where it is and waits for the kill. */
    static void stopForEver(String point) {
        System.out.println(STOPPED + point);
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            // What comes next must not happen: only the kill ends this.
            Runtime.getRuntime().halt(1);
        }
    }
}

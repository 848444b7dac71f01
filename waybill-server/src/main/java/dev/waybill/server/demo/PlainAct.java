package dev.waybill.server.demo;

import dev.waybill.server.demo.Order.Fate;
import dev.waybill.test.Processes.Child;
import dev.waybill.test.ProviderClient;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The five orders through a plain client in a process of its own, killed where the engine is killed, against its own provider. */
final class PlainAct implements AutoCloseable {
    private final Strategy strategy;
    private final Scene scene;
    private final Show show;
    private final CompletableFuture<ProviderClient> provider;
    private final List<Child> children = new ArrayList<>();

    /** Starts its provider, which may take its time. */
    PlainAct(Strategy strategy, Scene scene, Show show) {
        this.strategy = strategy;
        this.scene = scene;
        this.show = show;
        this.provider = scene.provider(strategy);
    }

    void play() {
        ProviderClient acme = provider.join();
        acme.script(Order.script(scene.orders(), scene.killAt()));
        Child first = start(acme, scene.killAt() == KillAt.BOOKED ? null : scene.killAt());
        String doomed = Order.of(scene.orders(), Fate.KILLED).name();
        List<String> said = until(first, doomed + " taken");
        show.step(title() + String.join(" · ", said));
        if (scene.killAt() == KillAt.BOOKED) {
            scene.kill(first, acme);
        } else {
            first.awaitLine(line -> line.startsWith(Children.STOPPED), Children.PATIENCE);
            first.kill();
        }
        show.step(title() + show.bad("kill -9 " + first.pid()) + " at order-D, " + scene.killAt().words());
        Child second = start(acme, null);
        List<String> after = until(second, "END");
        show.step(title() + "started again: " + (after.isEmpty() ? "order-D is marked as started, nobody looks at it again" : String.join(" · ", after)));
    }

    private String title() {
        return String.format("%-13s", strategy.title());
    }

    private Child start(ProviderClient acme, @Nullable KillAt stopAt) {
        List<String> arguments = new ArrayList<>(List.of(
                strategy.name(), acme.url(""), scene.ordersFile().toString(), scene.file(strategy.ledgerFile().replace(".jsonl", ".journal")).toString()));
        if (stopAt != null) {
            arguments.add(stopAt.name());
        }
        Child child = Children.start(PlainClient.class, arguments);
        children.add(child);
        return child;
    }

    /** What became of the orders before this line, without those that were only taken. */
    private static List<String> until(Child child, String end) {
        child.awaitLine(end::equals, Children.PATIENCE);
        return child.lines().stream()
                .takeWhile(line -> !line.equals(end))
                .filter(line -> !line.endsWith(" taken"))
                .map(line -> line.substring("order-".length()))
                .toList();
    }

    @Override
    public void close() {
        children.forEach(Child::close);
        Scene.close(provider);
    }
}

package dev.waybill.server.demo;

import dev.waybill.server.demo.Order.Fate;
import dev.waybill.test.Processes.Child;
import dev.waybill.test.ProviderClient;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;

/** What is the same for every strategy. */
record Scene(Path directory, List<Order> orders, KillAt killAt) {
    private static final Executor BESIDE = body -> Thread.ofVirtual().name("demo-provider").start(body);

    Path file(String name) {
        return directory.resolve(name);
    }

    Path ordersFile() {
        return file("orders.json");
    }

    Path ledger(Strategy strategy) {
        return file(strategy.ledgerFile());
    }

    /** A provider process with a ledger of its own; it starts while others do. */
    CompletableFuture<ProviderClient> provider(Strategy strategy) {
        return CompletableFuture.supplyAsync(() -> ProviderClient.launch(ledger(strategy), "--honour-keys"), BESIDE);
    }

    static void close(CompletableFuture<ProviderClient> provider) {
        try {
            provider.join().close();
        } catch (CompletionException neverStarted) {
            // Whoever needed it has said so.
        }
    }

    /** Kills the process that has charged order D, between the booking and its answer: the provider's ledger says when. */
    void kill(Child child, ProviderClient acme) {
        Order order = Order.of(orders, Fate.KILLED);
        acme.awaitBooked(
                entry -> entry.path().equals(order.chargePath()) && entry.answer() != null
                        && order.name().equals(entry.answer().path("order").asString("")),
                Children.PATIENCE);
        child.kill();
        acme.releaseAll();
    }
}

package dev.waybill.server.api;

import dev.waybill.model.WaybillException;
import dev.waybill.operate.Effects;
import dev.waybill.operate.HeldDestinations;
import dev.waybill.operate.Runs;
import dev.waybill.operate.Sequences;
import dev.waybill.store.DeskStore;
import dev.waybill.store.Durability;
import dev.waybill.store.Queries;
import dev.waybill.server.webhook.Webhooks;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.HttpTransport;
import java.lang.reflect.Proxy;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;

/** An engine that holds nothing: for what the HTTP layer does by itself. */
final class StubBackend {
    private StubBackend() {}

    static Backend empty() {
        return new Backend(
                stub(Sequences.class), stub(Runs.class), stub(Effects.class), stub(HeldDestinations.class), stub(Queries.class),
                stub(DeskStore.class),
                new Webhooks(Optional.empty(), stub(Queries.class), new HttpTransport(AddressPolicy.publicOnly()), InstantSource.system(), new Random(1)), "stub",
                new Durability(List.of(), List.of()), () -> true, _ -> {});
    }

    private static <T> T stub(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (_, method, arguments) -> {
            Class<?> answer = method.getReturnType();
            if (answer == List.class) {
                return List.of();
            }
            if (answer == Map.class) {
                return Map.of();
            }
            if (method.getName().equals("keepOnce")) {
                return arguments[1]; // nobody has kept anything before
            }
            if (answer == String.class) {
                return null;
            }
            throw WaybillException.notFound("NOT_HERE", "this engine holds nothing");
        }));
    }
}

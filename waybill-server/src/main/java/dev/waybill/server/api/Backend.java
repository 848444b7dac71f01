package dev.waybill.server.api;

import dev.waybill.Waybill;
import dev.waybill.operate.Effects;
import dev.waybill.operate.HeldDestinations;
import dev.waybill.operate.Runs;
import dev.waybill.operate.Sequences;
import dev.waybill.store.DeskStore;
import dev.waybill.server.webhook.Webhooks;
import dev.waybill.store.Durability;
import dev.waybill.store.Queries;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** What the routes need of an engine. */
public record Backend(
        Sequences sequences,
        Runs runs,
        Effects effects,
        HeldDestinations destinations,
        Queries queries,
        DeskStore desk,
        Webhooks webhooks,
        String store,
        Durability durability,
        BooleanSupplier ready,
        Consumer<Runnable> onChange) {

    public static Backend of(Waybill engine, Webhooks webhooks) {
        return new Backend(
                engine.sequences(), engine.runs(), engine.effects(), engine.destinations(), engine.queries(), engine.desk(), webhooks,
                engine.storeDescription(),
                engine.durability(), engine::ready, engine::onChange);
    }
}

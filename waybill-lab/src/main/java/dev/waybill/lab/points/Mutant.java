package dev.waybill.lab.points;

import dev.waybill.Waybill;
import dev.waybill.store.Store;
import java.util.function.UnaryOperator;
import tools.jackson.databind.JsonNode;

/**
 * A fault built into every engine of an enumeration, which must then find it.
 *
 * @param store    stands before the store, above the boundaries
 * @param document of the sequence
 * @param engine   the builder
 */
record Mutant(UnaryOperator<Store> store, UnaryOperator<JsonNode> document, Engine engine) {
    @FunctionalInterface
    interface Engine {
        void change(Waybill.Builder builder, dev.waybill.transport.HttpTransport transport);
    }

    static final Mutant NONE = new Mutant(UnaryOperator.identity(), UnaryOperator.identity(), (builder, transport) -> {});
}

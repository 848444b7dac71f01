package dev.waybill.recorder;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome;
import java.util.UUID;

/**
 * What a dead node's file says about one receipt that the node had not seen settled.
 *
 * @param node the incarnation that was about to dispatch it
 */
public record Testimony(UUID receipt, UUID node, InstanceKey instance, String path, Says says) {
    /** The three things it can say. */
    public sealed interface Says {
        /** The first byte never left. */
        record NotSent() implements Says {}

        /** The call had ended with this. */
        record Answered(Outcome outcome) implements Says {}

        /** The first byte may have left and no answer was complete: nobody knows. */
        record Gap() implements Says {}
    }
}

package dev.waybill.definition;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import java.util.List;
import java.util.stream.Collectors;
import tools.jackson.databind.node.ArrayNode;

/**
 * Everything that validation found, in document order.
 *
 * @param faults   refuse publication
 * @param guarantees of every step, in document order
 * @param warnings lint: legal, and probably not what was meant
 */
public record Validation(List<Fault> faults, List<Fault> warnings, List<StepGuarantee> guarantees) {
    /** The computed promise of one step. */
    public record StepGuarantee(String step, Guarantee guarantee) {}

    public boolean valid() {
        return faults.isEmpty();
    }

    /** 422 INVALID_SEQUENCE that lists every fault, in the message and as {@code details [{code, pointer, message}]}. */
    public WaybillException refusal() {
        return refusal("INVALID_SEQUENCE", "the sequence");
    }

    /** The same under another code, about something else. */
    WaybillException refusal(String code, String subject) {
        ArrayNode details = Json.NODES.arrayNode();
        faults.forEach(fault -> details.addObject().put("code", fault.code()).put("pointer", fault.pointer()).put("message", fault.message()));
        String list = faults.stream()
                .map(fault -> fault.code() + " at " + (fault.pointer().isEmpty() ? "/" : fault.pointer()) + ": " + fault.message())
                .collect(Collectors.joining("; "));
        return new WaybillException(
                422, code, subject + " is not valid: " + list, faults.getFirst().pointer(), "waybill sequence validate FILE", details);
    }
}

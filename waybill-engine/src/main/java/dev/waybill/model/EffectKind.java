package dev.waybill.model;

import java.util.Locale;

/** The kind of an effect, derived from its handler and never declared (semantics.md section 3). Invariants are declared per kind. */
public enum EffectKind {
    HTTP,
    MODEL,
    MESSAGE,
    STORAGE,
    WORKER,
    CUSTOM;

    /** The kind that the effects of {@code handler} have; any handler that is not built in is a worker. */
    public static EffectKind ofHandler(String handler) {
        return switch (handler) {
            case "http_request" -> HTTP;
            case "llm_call", "agent", "embed" -> MODEL;
            case "emit_event", "send_signal" -> MESSAGE;
            case "memory_store", "memory_delete", "blob_put" -> STORAGE;
            case "tool_call", "mcp_call", "self_modify" -> CUSTOM;
            default -> WORKER;
        };
    }

    public String wire() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * @throws IllegalArgumentException when {@code wire} names no kind
     */
    public static EffectKind ofWire(String wire) {
        return valueOf(wire.toUpperCase(Locale.ROOT));
    }
}

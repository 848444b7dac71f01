package dev.waybill.handler;

import dev.waybill.transport.Transport;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/** Handlers by name. A name that is not here belongs to the external worker queue of that name. Thread-safe. */
public final class Handlers {
    /** Names of the language; nobody else can take one, whether this build has it or not (an effect's kind follows from its name). */
    public static final Set<String> RESERVED = Set.of(
            "noop", "log", "sleep", "fail", "transform", "assert", "set_state", "get_state", "delete_state", "merge_state",
            "query_instance", "memory_search", "blob_get", "wait_for_event", "human_review", "http_request", "llm_call", "tool_call",
            "mcp_call", "agent", "emit_event", "send_signal", "self_modify", "memory_store", "memory_delete", "blob_put", "embed");

    private final Map<String, Handler> byName = new ConcurrentHashMap<>();

    /** The built-in handlers that touch nothing, and nothing else. */
    public Handlers() {
        byName.putAll(BuiltIns.ALL);
    }

    /**
     * The built-in handlers with {@code http_request} over {@code transport}.
     *
     * @param clock for Retry-After dates
     */
    public Handlers(Transport transport, InstantSource clock) {
        this();
        byName.put(HttpRequestHandler.NAME, new HttpRequestHandler(transport, clock));
    }

    /**
     * Adds a handler.
     *
     * @throws IllegalArgumentException when the name is blank, reserved by the language or taken
     */
    public Handlers register(String name, Handler handler) {
        if (name.isBlank() || !name.equals(name.strip())) throw new IllegalArgumentException("a handler needs a name: '" + name + "'");
        if (RESERVED.contains(name)) throw new IllegalArgumentException("handler " + name + " is built in and cannot be replaced");
        if (byName.putIfAbsent(name, handler) != null) throw new IllegalArgumentException("handler " + name + " is registered already");
        return this;
    }

    /** Built in and pure: never blocks, so a turn may run it where it stands. */
    public static boolean isBuiltInPure(String name) {
        return BuiltIns.ALL.containsKey(name);
    }

    public Optional<Handler> find(String name) {
        return Optional.ofNullable(byName.get(name));
    }

    public Set<String> names() {
        return new TreeSet<>(byName.keySet());
    }

    /**
     * An effect with typed params and output, guarded by a receipt. Returning is {@code committed}, {@link EffectRefusedException} is
     * {@code not_applied}, any other exception is {@code unknown}.
     *
     * @param in  a record bound to the params, secrets revealed; what does not fit fails the step before anything is done
     * @param out for the reader and for tools; the output is what {@code function} returns, as JSON
     */
    public static <I, O> EffectHandler effect(Class<I> in, Class<O> out, EffectFunction<I, O> function) {
        return TypedHandlers.effect(in, function);
    }

    /**
     * A computation with typed params and output: it has no receipt and may be run again. Secrets are not revealed to it.
     *
     * @param in  a record bound to the params
     * @param out see {@link #effect}
     */
    public static <I, O> PureHandler pure(Class<I> in, Class<O> out, PureFunction<I, O> function) {
        return TypedHandlers.pure(in, function);
    }
}

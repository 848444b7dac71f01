package dev.waybill.definition;

import dev.waybill.definition.Sequence.Effect;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What a step can promise about its effect (semantics.md section 1), computed from what its author declares; never "exactly once". */
public enum Guarantee {
    /** Touches nothing outside: no receipt, may run again. */
    PURE,
    /** Sent at most once for each receipt; an unknown outcome stops it until it is found out. */
    AT_MOST_ONCE,
    /** The destination honours a key: inside its window the engine may send the same request again. */
    ONCE_BY_KEY,
    /** The author accepts repeats. */
    AT_LEAST_ONCE;

    /**
     * @param effectful whether the step touches the outside
     * @param effect    what is declared of it, or null
     */
    public static Guarantee of(boolean effectful, @Nullable Effect effect) {
        if (!effectful) {
            return PURE;
        }
        if (effect != null && effect.repeats()) {
            return AT_LEAST_ONCE;
        }
        return effect != null && effect.key() != null && effect.keyWindow() != null ? ONCE_BY_KEY : AT_MOST_ONCE;
    }

    /** One line that says what it means. */
    public String meaning() {
        return switch (this) {
            case PURE -> "touches nothing outside; no receipt, may run again";
            case AT_MOST_ONCE -> "sent at most once for each receipt; an unknown outcome stops the step until it is found out";
            case ONCE_BY_KEY -> "the destination honours a key: inside its window the same request may go out again and counts once";
            case AT_LEAST_ONCE -> "repeats are accepted: after an unknown outcome it is sent again and may happen more than once";
        };
    }

    /** As it is shown: {@code at most once}. */
    public String words() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}

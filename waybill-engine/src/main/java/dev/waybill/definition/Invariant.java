package dev.waybill.definition;

import dev.waybill.model.EffectKind;
import dev.waybill.model.InstanceState;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What must hold of every run of a sequence version (semantics.md section 6).
 *
 * @param name        1 to 128 characters, unique in its version
 * @param commitGuard the database refuses the second effect; without it the run is only judged at its end
 */
public record Invariant(String name, Rule rule, boolean commitGuard) {

    /** The kinds of rules of the wire. */
    public sealed interface Rule {
        String type();
    }

    /**
     * At most one effect of a kind to one destination has this content.
     *
     * @param kind   of effect
     * @param key    business key that stands for the content among all runs of the tenant (scope {@code tenant}); null: the request's hash
     *               within the execution (scope {@code execution})
     * @param window with a key: how long the content is taken; null = for ever
     */
    public record EffectAtMostOnce(EffectKind kind, @Nullable Value key, @Nullable Duration window) implements Rule {
        @Override
        public String type() {
            return "effect_at_most_once";
        }
    }

    /** The run ends without an unknown effect. */
    public record NoUnknownEffects() implements Rule {
        @Override
        public String type() {
            return "no_unknown_effects";
        }
    }

    /** The run ends in one of these states. */
    public record TerminalStateIn(Set<InstanceState> states) implements Rule {
        @Override
        public String type() {
            return "terminal_state_in";
        }
    }

    /**
     * When the run completes, this is there and not null.
     *
     * @param path {@code outputs.ship.body.tracking}
     */
    public record OutputPathPresent(Expression path) implements Rule {
        @Override
        public String type() {
            return "output_path_present";
        }
    }
}

package dev.waybill.engine;

import dev.waybill.definition.Guarantee;
import org.jspecify.annotations.Nullable;

/**
 * What is promised about an effect, and where its provider shows it.
 *
 * @param profile name of the destination profile that was in force, or null
 * @param search  address where an operator looks the effect up, without secrets; null when none is known
 */
public record EffectContract(Guarantee guarantee, @Nullable String profile, @Nullable String search) {}

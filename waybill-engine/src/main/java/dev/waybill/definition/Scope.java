package dev.waybill.definition;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What templates and expressions see: roots by name ({@code data}, {@code context}, {@code config}, {@code outputs}, {@code steps},
 * {@code payload}, {@code input}, {@code state}, {@code runtime}, and loop variables such as {@code item}).
 */
@FunctionalInterface
public interface Scope {
    /** The root's value, or null when there is no such root (which is a fault of the author, unlike a missing path in a root). */
    @Nullable JsonNode root(String name);
}

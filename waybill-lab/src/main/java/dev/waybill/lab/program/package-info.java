/**
 * Random workflow programs whose result can be computed: a seeded generator, an interpreter that knows no engine class, and the
 * comparison of its result with what an engine really did.
 */
@org.jspecify.annotations.NullMarked
package dev.waybill.lab.program;

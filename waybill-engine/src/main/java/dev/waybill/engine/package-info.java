/** The turn: decide purely, commit once, act after. */
@org.jspecify.annotations.NullMarked
package dev.waybill.engine;

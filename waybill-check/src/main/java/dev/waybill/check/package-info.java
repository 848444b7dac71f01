/** Holds a history against every promised property; knows no class of the engine. */
@org.jspecify.annotations.NullMarked
package dev.waybill.check;

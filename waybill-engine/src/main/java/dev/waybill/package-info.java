/** The facade: open an engine, register handlers, start runs, settle effects. */
@org.jspecify.annotations.NullMarked
package dev.waybill;

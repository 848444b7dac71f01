/** Pure values and state machines. Nothing here does I/O, reads a clock or draws a random number. */
@org.jspecify.annotations.NullMarked
package dev.waybill.model;

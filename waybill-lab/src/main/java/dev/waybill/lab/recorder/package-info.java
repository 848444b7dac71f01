/** Measures what the flight recorder leaves unknown under {@code kill -9}. */
@org.jspecify.annotations.NullMarked
package dev.waybill.lab.recorder;

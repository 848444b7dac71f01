/** The benchmark: the whole engine, guarded steps, side by side with the protocol of the seed. */
@org.jspecify.annotations.NullMarked
package dev.waybill.lab.bench;

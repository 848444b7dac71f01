/** The model store: the same contract in memory, for simulation and tests. */
@org.jspecify.annotations.NullMarked
package dev.waybill.store.memory;

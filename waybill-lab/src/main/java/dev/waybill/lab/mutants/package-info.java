/** Negative controls: the engine with one rule taken out, which the simulator and one other layer must notice. */
@org.jspecify.annotations.NullMarked
package dev.waybill.lab.mutants;

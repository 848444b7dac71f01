/**
 * The deterministic simulator: several engines as they are, one store, a network, a provider, clients and an operator in one thread,
 * with a clock and a scheduler of their own. One seed is one history, and the same history every time.
 */
@org.jspecify.annotations.NullMarked
package dev.waybill.lab.sim;

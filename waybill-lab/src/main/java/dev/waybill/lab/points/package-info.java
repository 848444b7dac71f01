/** Every crash point of the canonical scenarios, on real databases and a real network, each engine a process that can die anywhere. */
@org.jspecify.annotations.NullMarked
package dev.waybill.lab.points;

/** Never published: benchmarks, crash tests in real processes, negative controls. */
@org.jspecify.annotations.NullMarked
package dev.waybill.lab;

/** {@code waybill demo}: the main job on real processes, beside two plain clients, counted from the providers' own ledgers. */
@org.jspecify.annotations.NullMarked
package dev.waybill.server.demo;

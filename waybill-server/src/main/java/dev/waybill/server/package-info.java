/** The server as a process: configuration, keys, metrics, start and drain. A thin shell over {@code dev.waybill.Waybill}. */
@org.jspecify.annotations.NullMarked
package dev.waybill.server;

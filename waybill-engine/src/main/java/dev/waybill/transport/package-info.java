/** The one-send HTTP client for effects. */
@org.jspecify.annotations.NullMarked
package dev.waybill.transport;

/** What a step can call: the handler contract and the built-in handlers. */
@org.jspecify.annotations.NullMarked
package dev.waybill.handler;

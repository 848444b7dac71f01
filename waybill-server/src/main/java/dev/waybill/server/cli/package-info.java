/** The command line: {@code serve}, and everything else as a client of the HTTP API. */
@org.jspecify.annotations.NullMarked
package dev.waybill.server.cli;

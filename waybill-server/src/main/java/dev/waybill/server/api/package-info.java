/** The HTTP API: one registry of endpoints that mounts the routes and writes the OpenAPI document. */
@org.jspecify.annotations.NullMarked
package dev.waybill.server.api;

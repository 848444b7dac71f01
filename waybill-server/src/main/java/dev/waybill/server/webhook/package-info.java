/** Events out: signed requests to the endpoints that a tenant configured, from the outbox, at least once. */
@NullMarked
package dev.waybill.server.webhook;

import org.jspecify.annotations.NullMarked;

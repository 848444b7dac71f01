/** The PostgreSQL store. */
@org.jspecify.annotations.NullMarked
package dev.waybill.store.postgres;

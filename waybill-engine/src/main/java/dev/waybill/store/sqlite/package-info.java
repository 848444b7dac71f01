/** The embedded store: one file, one writer. */
@org.jspecify.annotations.NullMarked
package dev.waybill.store.sqlite;

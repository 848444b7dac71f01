/** What the SQL stores share: a query helper and the migration runner. Nothing here knows a dialect. */
@org.jspecify.annotations.NullMarked
package dev.waybill.store.jdbc;

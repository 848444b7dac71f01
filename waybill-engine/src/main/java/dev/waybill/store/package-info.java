/** The seam to a database: verbs that are one transaction each, and their sealed answers. */
@org.jspecify.annotations.NullMarked
package dev.waybill.store;

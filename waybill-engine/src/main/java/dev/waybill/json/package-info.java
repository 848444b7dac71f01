/** Strict parsing, canonical form, exact numbers and fingerprints, on Jackson. */
@org.jspecify.annotations.NullMarked
package dev.waybill.json;

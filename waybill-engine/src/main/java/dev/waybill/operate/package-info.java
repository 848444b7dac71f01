/** What people do to runs and receipts: resolve, retry, pause, cancel, look. */
@org.jspecify.annotations.NullMarked
package dev.waybill.operate;

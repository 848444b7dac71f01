package dev.waybill.store;

/**
 * One row of {@code audit_log}: who did what to which subject. Append-only, in the transaction of the deed.
 *
 * @param action  effect.resolve, run.cancel, run.retry, run.compensate ..
 * @param details JSON object text
 */
public record AuditRow(String actor, String action, String subject, String details) {}

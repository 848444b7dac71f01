/**
 * Holds a history against every promised property; knows no class of the engine. A history is what four witnesses wrote, each in JSON
 * lines of its own, times in ISO 8601 (UTC):
 *
 * <ul>
 *   <li><b>the provider's ledger</b>, as waybill-test's {@code LedgerEntry} has it: {@code {seq, at, kind: delivery|apply|answer, delivery,
 *       method, path, effect_id?, idempotency_key?, content?, answer?, fault?, seen_state?}}. {@code seen_state} on a delivery is what the
 *       provider itself saw of the receipt over its own connection to the store: {@code absent}, a state, or {@code db_down};
 *   <li><b>dumps of the store</b>: {@link dev.waybill.check.Dump}, written by {@code Main dump --store URL --to FILE}; a table
 *       {@code claim_history (tenant_id, instance_id, claim_epoch, claim_nonce, claim_node, at)} of the lab's is read where it is;
 *   <li><b>the client's calls</b>: {@code {op: start|signal|resolve, result: ok|fail|info, at, answered, tenant?, id?, key?, signal?, effect?,
 *       state?, delay_ms?}}, see {@link dev.waybill.check.Rows.Call};
 *   <li><b>the fault log</b>: {@code {kind: kill|stop|cut|store|drain|calm .., at, until?, node?}}, see
 *       {@link dev.waybill.check.Rows.Fault}; {@code node} is the name of the node, none means all of them.
 * </ul>
 */
@org.jspecify.annotations.NullMarked
package dev.waybill.check;

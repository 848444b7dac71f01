package dev.waybill.store;

import java.time.Instant;
import java.util.List;

/**
 * Everything a turn needs to go on.
 *
 * @param receipts    every receipt, in order of insertion
 * @param journal     every journal row, ordered by (path as UTF-8 bytes, attempt, n); replies' bodies are left out (null)
 * @param rows        the row with the highest n of every path, ordered by path (as UTF-8 bytes)
 * @param databaseNow when this was read
 */
public record InstanceSnapshot(
        InstanceRecord instance, List<ReceiptRow> receipts, List<JournalRow> journal, List<BlockRow> rows, Instant databaseNow) {}

package dev.waybill.lab.mutants;

import java.util.List;

/** Rules of the commit protocol, taken out of the model store and of both databases. */
final class StoreMutants {
    private static final String MEMORY = "store.memory.MemoryStoreTest";
    private static final String SQLITE = "store.sqlite.SqliteConformanceTest";
    private static final String POSTGRES = "store.postgres.PostgresStoreConformanceTest";

    private StoreMutants() {}

    static List<Mutant> all() {
        return List.of(
                Mutant.of("settle-without-claim", "A settle needs the claim: a fenced owner changes no state.")
                        .with(
                                "store.memory.MemoryStore#commit",
                                "if (!held) { return new CommitAnswer.ClaimLost(); } boolean send",
                                "boolean send")
                        .with("store.sqlite.Commits#run", "if (!held) { return new CommitAnswer.ClaimLost(); }", "")
                        .with(
                                "store.postgres.CommitStatement#HEAD",
                                "AND i.claim_epoch = m.claim_epoch AND i.claim_nonce = m.claim_nonce AND i.claim_node IS NOT NULL",
                                "")
                        .killedBy(MEMORY, SQLITE, POSTGRES),
                Mutant.of("claim-without-nonce", "A claim is epoch and random nonce: an epoch that a failover lost and gave out again does not match.")
                        .with(
                                "store.memory.MemoryInstance#heldUnder",
                                "return claimNode != null && claim.equals(other);",
                                "return claimNode != null && claim.epoch() == other.epoch();")
                        .with("store.sqlite.Commits#run", "&& row.nonce().equals(commit.claim().nonce());", ";")
                        .with("store.postgres.CommitStatement#HEAD", "AND i.claim_nonce = m.claim_nonce", "")
                        .killedBy(MEMORY, SQLITE, POSTGRES),
                Mutant.of("journal-row-missing", "Every move of a receipt is a journal row: settle writes it in the same transaction.")
                        .with("store.memory.MemoryStore#commit", "commit.settles().forEach(row -> instance.add(row, now));", "")
                        .with(
                                "store.sqlite.Commits#write",
                                "Rows.insert(db, key, move, now); } for (BlockRow block : commit.rows())",
                                "} for (BlockRow block : commit.rows())")
                        .with(
                                "store.postgres.CommitStatement#run",
                                "commit.settles().forEach(row -> Rows.addJournal(journal, ord, key, row));",
                                "")
                        .killedBy(MEMORY, SQLITE, POSTGRES),
                Mutant.of("lease-predicate-dropped", "An intent needs an unfenced, unexpired node.")
                        .with(
                                "store.memory.MemoryStore#commit",
                                "boolean alive = nodeAlive && (instance.claimNode == null || node.equals(instance.claimNode));",
                                "boolean alive = true;")
                        .with(
                                "store.sqlite.Commits#run",
                                "boolean send = alive(row) && !row.cancel() && !row.pause()",
                                "boolean send = !row.cancel() && !row.pause()")
                        .with(
                                "store.postgres.CommitStatement#HEAD",
                                """
                                coalesce((SELECT n.expires_at FROM nodes n WHERE n.id = ?::uuid AND n.id = i.claim_node AND NOT n.fenced)
                                > clock_timestamp(), false) AS live""",
                                "?::uuid IS NOT NULL AS live")
                        .killedBy(MEMORY, SQLITE, POSTGRES),
                Mutant.of("fenced-node-beats-on", "The heartbeat is conditional on not fenced: a fenced node stays fenced.")
                        .with(
                                "store.memory.MemoryStore#heartbeat",
                                """
                                Node known = nodes.computeIfPresent(node, (_, old) -> old.fenced()
                                        ? old
                                        : new Node(old.id(), old.name(), old.startedAt(), now.plus(lease), false));
                                return known != null && !known.fenced();""",
                                """
                                Node known = nodes.computeIfPresent(
                                        node, (_, old) -> new Node(old.id(), old.name(), old.startedAt(), now.plus(lease), false));
                                return known != null;""")
                        .with(
                                "store.sqlite.Claims#heartbeat",
                                "\"UPDATE nodes SET seen_at = ?, expires_at = ? WHERE id = ? AND fenced = 0\"",
                                "\"UPDATE nodes SET seen_at = ?, expires_at = ?, fenced = 0 WHERE id = ?\"")
                        .with(
                                "store.postgres.PgClaims#heartbeat",
                                "\"UPDATE nodes SET expires_at = now() + ? * interval '1 millisecond' WHERE id = ? AND NOT fenced\"",
                                "\"UPDATE nodes SET expires_at = now() + ? * interval '1 millisecond', fenced = false WHERE id = ?\"")
                        .killedBy(MEMORY, SQLITE, POSTGRES),
                Mutant.of("cancel-ignored-at-intent", "Once a cancel is committed, no new dispatch of that instance can commit.")
                        .with(
                                "store.Commit#held",
                                "return pauseRequested || cancelRequested && !compensates;",
                                "return pauseRequested;")
                        .with(
                                "store.postgres.CommitStatement#HEAD",
                                "live AND (compensates OR NOT cancel_requested) AND NOT pause_requested",
                                "live AND NOT pause_requested")
                        .killedBy(MEMORY, SQLITE, POSTGRES),
                Mutant.of("wake-seq-ignored", "The owner's release expects the wake_seq it has seen; else it reads the news and goes on.")
                        .with(
                                "store.memory.MemoryStore#commit",
                                "boolean released = release != null && release.expectedWakeSeq() == instance.wakeSeq;",
                                "boolean released = release != null;")
                        .with(
                                "store.sqlite.Commits#run",
                                "settled(row, asked, commit, send, release != null && release.expectedWakeSeq() == row.wakeSeq())",
                                "settled(row, asked, commit, send, release != null)")
                        .with(
                                "store.sqlite.Commits#write",
                                "boolean released = release != null && release.expectedWakeSeq() == row.wakeSeq();",
                                "boolean released = release != null;")
                        .with(
                                "store.postgres.CommitStatement#HEAD",
                                "m.to_state IS NOT NULL AND i.wake_seq = m.expected_wake_seq AS releases",
                                "m.to_state IS NOT NULL AND i.wake_seq IS NOT NULL AS releases")
                        .killedBy(MEMORY, SQLITE, POSTGRES),
                // SQLite has one writer, whose look-up and write no other can come between.
                Mutant.of("dedup-read-then-write", "The database decides by a unique key, in the transaction that creates the instance.")
                        .with(
                                "store.memory.MemoryStore#start",
                                """
                                List<StartAnswer> answers = verb(Faults.Verb.START, () -> {
                                    Instant now = now();
                                    boolean alive = alive(node, now);
                                    return batch.stream().map(start -> start(start, node, alive, now)).toList();
                                });""",
                                """
                                List<Optional<StartAnswer.Existing>> seen = verb(Faults.Verb.LOAD, () -> batch.stream()
                                        .map(one -> Optional.ofNullable(dedup.get(new DedupKey(
                                                one.instance().tenant(), Objects.requireNonNullElse(one.dedupScope(), ""),
                                                Objects.requireNonNullElse(one.dedupKey(), "")))))
                                        .toList());
                                List<StartAnswer> answers = verb(Faults.Verb.START, () -> {
                                    Instant now = now();
                                    boolean alive = alive(node, now);
                                    List<StartAnswer> made = new ArrayList<>();
                                    for (int i = 0; i < batch.size(); i++) {
                                        made.add(seen.get(i).isPresent() ? seen.get(i).get() : start(batch.get(i), node, alive, now));
                                    }
                                    return made;
                                });""")
                        .with("store.memory.MemoryStore#start", "if (existing != null) { return existing; }", "")
                        .with(
                                "store.postgres.PgStarts#takeKeys",
                                """
                                try (PreparedStatement statement = connection.prepareStatement(TAKE_KEYS)) {
                                    keys.bind(statement, 1);
                                    try (ResultSet row = statement.executeQuery()) {
                                        while (row.next()) {
                                            losers.remove(row.getObject(1, UUID.class));
                                        }
                                    }
                                }
                                if (losers.isEmpty()) {
                                    return;
                                }""",
                                "")
                        .with(
                                "store.postgres.PgStarts#takeKeys",
                                """
                                if (losers.values().stream().anyMatch(ord -> answers[ord] == null)) {
                                    throw new SQLTransactionRollbackException("a dedup key was pruned between its conflict and its reading", "40001");
                                }""",
                                """
                                try (PreparedStatement statement = connection.prepareStatement(TAKE_KEYS)) {
                                    keys.bind(statement, 1);
                                    statement.executeQuery().close();
                                }""")
                        .killedBy(MEMORY, POSTGRES),
                // PostgreSQL withholds the privilege to delete from the engine's role; SQLite has a trigger, which this takes away.
                Mutant.of("receipts-deleted-on-retry", "Receipts, journal and evidence are never deleted: not by retry, resume, loop, fork or cancel.")
                        .with(
                                "store.memory.MemoryStore#outside",
                                "move.rows().forEach(row -> instance.add(row, now)); if (move.cancel() != null)",
                                """
                                move.rows().forEach(row -> instance.add(row, now));
                                move.rows().stream()
                                        .filter(row -> row.kind() == dev.waybill.store.BlockRow.Kind.CLEARED)
                                        .forEach(row -> {
                                            instance.receipts.values().stream()
                                                    .filter(receipt -> receipt.path().equals(row.path()))
                                                    .forEach(receipt -> receipts.remove(new ReceiptKey(move.instance().tenant(), receipt.id())));
                                            instance.receipts.keySet().removeIf(position -> position.path().equals(row.path()));
                                            instance.journal.keySet().removeIf(position -> position.path().equals(row.path()));
                                        });
                                if (move.cancel() != null)""")
                        .with(
                                "store.sqlite.OutsideMoves#write",
                                "Rows.insert(db, key, block, now);",
                                """
                                Rows.insert(db, key, block, now);
                                if (block.kind() == BlockRow.Kind.CLEARED) {
                                    for (String table : java.util.List.of("effect_receipts", "receipt_journal")) {
                                        db.execute("DROP TRIGGER IF EXISTS " + table + "_no_delete");
                                        db.sql("DELETE FROM " + table + " WHERE tenant_id = ? AND instance_id = ? AND path = ?")
                                                .text(key.tenant()).uuid(key.id()).text(block.path()).update();
                                    }
                                }""")
                        .killedBy("engine.UnknownOutcomeTest"),
                Mutant.of("unknown-pruned", "An unresolved receipt is never pruned, however long its run has ended.")
                        .with(
                                "store.memory.MemoryStore#release",
                                "instance.outcome = release.outcome();",
                                """
                                instance.outcome = release.outcome();
                                if (release.to().terminal()) {
                                    List<ReceiptRow> open = instance.receipts.values().stream()
                                            .filter(row -> MemoryInstance.stateOf(row, instance.last(row)) == dev.waybill.model.EffectState.UNKNOWN)
                                            .toList();
                                    for (ReceiptRow row : open) {
                                        receipts.remove(new ReceiptKey(instance.start.instance().tenant(), row.id()));
                                        instance.receipts.remove(MemoryInstance.position(row));
                                        instance.journal.remove(MemoryInstance.position(row));
                                    }
                                }""")
                        .with(
                                "store.sqlite.Commits#release",
                                "Rows.insert(db, commit.instance(), release.events(), now); }",
                                """
                                Rows.insert(db, commit.instance(), release.events(), now);
                                if (release.to().terminal()) {
                                    for (String table : List.of("effect_receipts", "receipt_journal", "effect_open")) {
                                        db.execute("DROP TRIGGER IF EXISTS " + table + "_no_delete");
                                        db.sql("DELETE FROM " + table + " WHERE tenant_id = ? AND instance_id = ? AND (path, attempt) IN"
                                                        + " (SELECT path, attempt FROM effect_open WHERE tenant_id = ?1 AND instance_id = ?2)")
                                                .text(commit.instance().tenant())
                                                .uuid(commit.instance().id())
                                                .update();
                                    }
                                }
                                }""")
                        .killedBy("engine.UnknownOutcomeTest"),
                // The databases take the row by its primary key: between their look-up and their write there is nothing to take out.
                Mutant.of("guard-by-read-then-write", "The first to insert a guard wins: what is held is not what was seen before.")
                        .with(
                                "store.memory.MemoryGuards#MemoryGuards",
                                "private final Map<Key, Held> held = new HashMap<>();",
                                "private final Map<Key, Held> held = new HashMap<>(); private Map<Key, Held> seen = Map.of();")
                        .with("store.memory.MemoryGuards#duplicates", "Held found = held.get(key);", "Held found = seen.get(key);")
                        .with(
                                "store.memory.MemoryGuards#take",
                                "Holder ours = holder(commit, guard);",
                                "Holder ours = holder(commit, guard); seen = Map.copyOf(held);")
                        .killedBy(MEMORY),
                Mutant.of("guard-not-released", "What ends without application gives its content back in the same transaction.")
                        .with(
                                "store.memory.MemoryGuards#free",
                                "&& paths.contains(it.getValue().by.path()));",
                                "&& paths.contains(\"\"));")
                        .killedBy(MEMORY));
    }
}

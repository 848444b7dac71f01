package dev.waybill.store.sqlite;

import java.nio.file.Path;

/**
 * Where the file is and how it is kept.
 *
 * @param file            the database; {@code FILE.lock}, {@code FILE-wal} and {@code FILE-shm} stand beside it
 * @param syncEveryCommit true: synchronous=FULL, an answered commit survives a power failure. False: NORMAL, it may not; then
 *                        {@link SqliteStore#durability()} says so
 * @param readers         threads for reads, each with its own connection, at least 1
 */
public record SqliteConfig(Path file, boolean syncEveryCommit, int readers) {
    public static SqliteConfig of(Path file) {
        return new SqliteConfig(file, true, 2);
    }
}

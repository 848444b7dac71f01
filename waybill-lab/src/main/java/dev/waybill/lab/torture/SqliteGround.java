package dev.waybill.lab.torture;

import dev.waybill.test.SmallDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One file, on a small disk where that is possible. */
final class SqliteGround implements Ground {
    private static final int DISK_MEBIBYTES = 192;

    private final Path file;
    private final @Nullable SmallDisk disk;

    SqliteGround(Path directory, boolean smallDisk) throws IOException {
        Path place = Files.createDirectories(directory.resolve("store"));
        this.disk = smallDisk ? SmallDisk.mount(place, DISK_MEBIBYTES) : null;
        this.file = place.resolve("waybill.db");
    }

    @Nullable SmallDisk disk() {
        return disk;
    }

    @Override
    public String storeUrl(int node) {
        return directUrl();
    }

    @Override
    public String directUrl() {
        return "sqlite:" + file;
    }

    @Override
    public Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + file);
    }

    @Override
    public List<String> witness() {
        return List.of("jdbc:sqlite:file:" + file + "?mode=ro", "", "");
    }

    @Override
    public List<String> claimHistory() {
        String note = " BEGIN INSERT INTO claim_history VALUES (NEW.tenant_id, NEW.id, NEW.claim_epoch, NEW.claim_nonce, NEW.claim_node,"
                + " CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000); END";
        return List.of(
                "CREATE TABLE claim_history (tenant_id TEXT, instance_id BLOB, claim_epoch INTEGER, claim_nonce BLOB, claim_node BLOB, at INTEGER)",
                "CREATE TRIGGER claim_begun AFTER INSERT ON task_instances" + note,
                "CREATE TRIGGER claim_given AFTER UPDATE OF claim_epoch, claim_nonce ON task_instances"
                        + " WHEN NEW.claim_epoch <> OLD.claim_epoch OR NEW.claim_nonce <> OLD.claim_nonce" + note);
    }

    @Override
    public void close() {
        if (disk != null) {
            disk.close();
        }
    }
}

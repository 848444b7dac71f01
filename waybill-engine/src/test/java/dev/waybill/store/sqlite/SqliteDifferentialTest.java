package dev.waybill.store.sqlite;

import dev.waybill.store.StoreDifferential;
import dev.waybill.store.StoreLab;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

class SqliteDifferentialTest extends StoreDifferential {
    @TempDir
    Path directory;

    @Override
    protected StoreLab open() {
        return new SqliteLab(directory);
    }
}

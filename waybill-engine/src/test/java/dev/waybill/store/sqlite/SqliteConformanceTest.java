package dev.waybill.store.sqlite;

import dev.waybill.store.StoreConformance;
import dev.waybill.store.StoreLab;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

class SqliteConformanceTest extends StoreConformance {
    @TempDir
    Path directory;

    @Override
    protected StoreLab open() {
        return new SqliteLab(directory);
    }
}

package dev.waybill.store.postgres;

import dev.waybill.store.StoreConformance;
import dev.waybill.store.StoreLab;

class PostgresStoreConformanceTest extends StoreConformance {
    @Override
    protected StoreLab open() {
        return new PostgresLab();
    }
}

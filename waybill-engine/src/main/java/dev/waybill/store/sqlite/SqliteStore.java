package dev.waybill.store.sqlite;
public final class SqliteStore { private SqliteStore() {}
 public static dev.waybill.store.Store open(java.nio.file.Path f, java.time.InstantSource c) { throw new UnsupportedOperationException(); } }

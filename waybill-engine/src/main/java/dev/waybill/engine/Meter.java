package dev.waybill.engine;

/**
 * Where the engine counts. The library needs no metrics framework; the server binds this to its registry.
 *
 * <p>Names are Prometheus style, labels are pairs; {@code count} is monotone, {@code record} is a distribution.
 */
public interface Meter {
    void count(String name, long by, String... labels);

    void record(String name, double value, String... labels);

    Meter NONE = new Meter() {
        @Override
        public void count(String name, long by, String... labels) {}

        @Override
        public void record(String name, double value, String... labels) {}
    };
}

package dev.waybill.lab.sim;

/** Who runs simulations: this class loader, or one of its own ({@link Cabin}). */
interface Simulator {
    SimResult run(SimOptions options);

    /** Of a second run, which nobody judges. */
    long hash(SimOptions options);

    Simulator HERE = new Simulator() {
        @Override
        public SimResult run(SimOptions options) {
            return Simulation.run(options);
        }

        @Override
        public long hash(SimOptions options) {
            return Simulation.hash(options.seed(), options.liveness(), options.faults());
        }
    };
}

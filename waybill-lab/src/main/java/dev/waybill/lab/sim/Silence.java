package dev.waybill.lab.sim;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.slf4j.LoggerFactory;

/** Engines say what troubles them; with faults by the thousand nobody would read it. */
public final class Silence {
    private Silence() {}

    public static void engine() {
        ((Logger) LoggerFactory.getLogger("dev.waybill")).setLevel(Level.OFF);
    }
}

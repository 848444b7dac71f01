package dev.waybill.model;

import java.util.Locale;

/** Why a receipt is {@link EffectState#NOT_APPLIED}: the kind of proof that the provider did not do it. */
public enum Proof {
    /** Zero bytes of the request left this process. */
    NOT_SENT,
    /** The protocol itself says the request was not processed (for example 421 or 425). */
    REFUSED_BY_PROTOCOL,
    /** The provider answered no. */
    REJECTED,
    /** A verifier asked after the effect was quiet and found nothing. */
    VERIFIED_ABSENT;

    public String wire() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * @throws IllegalArgumentException when {@code wire} names no proof
     */
    public static Proof ofWire(String wire) {
        return valueOf(wire.toUpperCase(Locale.ROOT));
    }
}

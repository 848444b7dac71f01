package dev.waybill.transport;

/** Sends a request at most once and reports the phase it reached; {@link HttpTransport} over the network. */
public interface Transport {
    /** Canonicalises {@code url}, resolves it once and checks every address; nothing is dialled. */
    AddressPolicy.Verdict vet(String url);

    /**
     * Sends once. Never throws for what the network does. An interrupt ends the call and is consumed: it is the answer's
     * {@link WireAnswer#STOP_INTERRUPTED}, and the caller still has an outcome to store. An interrupt that comes after a complete
     * answer is left alone.
     */
    WireAnswer send(WireRequest request);
}

package dev.waybill.transport;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

/** Turns a host name into addresses. Asked once per call, in {@code prepare}; what it answered is vetted and then dialled. */
@FunctionalInterface
public interface Resolver {
    /**
     * @throws UnknownHostException when the name has no address now; the retry policy may ask again later
     */
    List<InetAddress> resolve(String host) throws UnknownHostException;

    Resolver SYSTEM = host -> List.of(InetAddress.getAllByName(host));
}

package dev.waybill.transport;

import java.net.InetAddress;
import java.util.List;
import okhttp3.HttpUrl;

/** A URL whose addresses were vetted by {@link AddressPolicy}; only these addresses can be dialled. */
public final class Destination {
    private final HttpUrl url;
    private final List<InetAddress> addresses;

    Destination(HttpUrl url, List<InetAddress> addresses) {
        this.url = url;
        this.addresses = List.copyOf(addresses);
    }

    HttpUrl url() {
        return url;
    }

    /** The pinned addresses in the resolver's order; empty when the name did not resolve. */
    public List<InetAddress> addresses() {
        return addresses;
    }

    public boolean resolved() {
        return !addresses.isEmpty();
    }

    /** Scheme, host, port and path, for messages: never the query, where credentials travel (case A36). */
    @Override
    public String toString() {
        boolean usualPort = url.port() == HttpUrl.defaultPort(url.scheme());
        String host = url.host().indexOf(':') >= 0 ? "[" + url.host() + "]" : url.host();
        return url.scheme() + "://" + host + (usualPort ? "" : ":" + url.port()) + url.encodedPath();
    }
}

package dev.waybill.transport;

import dev.waybill.transport.WireAnswer.Completeness;
import dev.waybill.transport.WireAnswer.Phase;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import okhttp3.Authenticator;
import okhttp3.Call;
import okhttp3.ConnectionPool;
import okhttp3.ConnectionSpec;
import okhttp3.CookieJar;
import okhttp3.Headers;
import okhttp3.Interceptor;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.ResponseBody;
import okio.Buffer;
import okio.BufferedSink;
import okio.BufferedSource;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP client for effects: one call is at most one send. HTTP/1.1, a fresh connection for each call, no retry, no redirect, no
 * cookie, no cache, no proxy, no compression; one deadline from connect to the last byte; and an exact account of the phase that was
 * reached (semantics.md section 4). Thread-safe; calls run on the caller's thread, which must be a virtual one for an interrupt to end
 * a call that waits for the network.
 */
public final class HttpTransport implements Transport {
    private static final long READ_CHUNK = 8_192;
    /** A little more than is kept of an answer that is too large, so that a secret on the edge is seen whole and can be taken out. */
    private static final long WINDOW = WireAnswer.KEPT_OF_TOO_LARGE + READ_CHUNK;

    private final OkHttpClient client;
    private final AddressPolicy policy;
    private final Resolver resolver;
    private final Consumer<InetSocketAddress> onConnect;

    /** Whom to trust; {@link #system()} unless a test or a private authority says otherwise. */
    public record Tls(SSLSocketFactory sockets, X509TrustManager trust) {
        /** The platform's certificate authorities. */
        public static Tls system() {
            try {
                TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
                trust.init((KeyStore) null);
                SSLContext context = SSLContext.getInstance("TLS");
                context.init(null, trust.getTrustManagers(), null);
                return new Tls(context.getSocketFactory(), (X509TrustManager) trust.getTrustManagers()[0]);
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException("the Java platform has no TLS", e);
            }
        }
    }

    public HttpTransport(AddressPolicy policy) {
        this(policy, Resolver.SYSTEM, Tls.system(), address -> {});
    }

    /**
     * @param onConnect hears of each address right before it is dialled
     */
    public HttpTransport(AddressPolicy policy, Resolver resolver, Tls tls, Consumer<InetSocketAddress> onConnect) {
        this.policy = policy;
        this.resolver = resolver;
        this.onConnect = onConnect;
        this.client = new OkHttpClient.Builder()
                .retryOnConnectionFailure(false)
                .followRedirects(false)
                .followSslRedirects(false)
                .protocols(List.of(Protocol.HTTP_1_1))
                // One TLS spec: a fallback spec would dial and shake hands again.
                .connectionSpecs(List.of(ConnectionSpec.MODERN_TLS, ConnectionSpec.CLEARTEXT))
                .sslSocketFactory(new TappedTls(tls.sockets()), tls.trust())
                // Happy eyeballs races connections on pool threads; addresses are tried in order on the caller's thread instead.
                .fastFallback(false)
                .proxy(Proxy.NO_PROXY)
                .proxyAuthenticator(Authenticator.NONE)
                .authenticator(Authenticator.NONE)
                .cookieJar(CookieJar.NO_COOKIES)
                .cache(null)
                // Never idle, so never stale (case A04). Shared, because each pool has a housekeeping task.
                .connectionPool(new ConnectionPool(0, 1, TimeUnit.HOURS))
                .addNetworkInterceptor(HttpTransport::sendOnce)
                .build();
    }

    @Override
    public AddressPolicy.Verdict vet(String url) {
        return policy.vet(url, resolver);
    }

    @Override
    public WireAnswer send(WireRequest request) {
        if (!request.destination().resolved()) {
            return WireAnswer.notSent(WireAnswer.STOP_UNREACHABLE, "the host name does not resolve");
        }
        Wire wire = new Wire(request, onConnect);
        Answer answer = new Answer();
        long started = System.nanoTime();
        Call call;
        try {
            call = bound(wire).newCall(build(request, wire, answer));
        } catch (IllegalArgumentException e) {
            // The message would quote the header.
            return WireAnswer.notSent(WireAnswer.STOP_UNSENDABLE, "HTTP cannot carry this request");
        }
        call.timeout().timeout(Math.max(1, request.timeout().toNanos()), TimeUnit.NANOSECONDS);
        Exception failure = null;
        try (Response _ = call.execute()) {
            // Everything of the answer is in `answer`.
        } catch (IOException | RuntimeException e) {
            failure = e;
        }
        if (answer.finished()) return answer.toWire("");
        boolean interrupted = Thread.interrupted();
        boolean timedOut = System.nanoTime() - started >= request.timeout().toNanos();
        int status = answer.status != 0 ? answer.status : wire.head().status();
        String stop = stop(wire, status, interrupted, timedOut);
        if (status > 0) {
            answer.status = status;
            // It has no body, so nothing of one can be missing (RFC 9110 section 15.3.5), though the library refuses a length on it.
            if (status == 204) answer.completeness = Completeness.COMPLETE;
            return answer.toWire(stop);
        }
        if (!wire.offered()) return WireAnswer.notSent(stop, cause(failure));
        return new WireAnswer(Phase.MAYBE_SENT, 0, Map.of(), new byte[0], Completeness.CUT, stop, "");
    }

    private static String stop(Wire wire, int status, boolean interrupted, boolean timedOut) {
        if (wire.late()) return WireAnswer.STOP_LATE;
        if (interrupted) return WireAnswer.STOP_INTERRUPTED;
        if (timedOut) return WireAnswer.STOP_TIMEOUT;
        if (status > 0) return WireAnswer.STOP_CUT;
        if (!wire.offered()) return WireAnswer.STOP_UNREACHABLE;
        if (status == AnswerHead.GARBLED) return WireAnswer.STOP_GARBLED;
        return wire.ended() ? WireAnswer.STOP_CLOSED : WireAnswer.STOP_RESET;
    }

    /**
     * The innermost reason; the outer ones repeat the library's view of the address. Only for a request that did not leave: later
     * messages quote what came, as text or in hex, and with it whatever the provider echoes.
     */
    private static String cause(@Nullable Throwable failure) {
        if (failure == null) return "";
        Throwable root = failure;
        while (root.getCause() != null && root.getCause() != root) root = root.getCause();
        String message = root.getMessage();
        return message == null || message.isBlank() ? root.getClass().getSimpleName() : message;
    }

    private static Request build(WireRequest request, Wire wire, Answer answer) {
        Headers.Builder headers = new Headers.Builder();
        for (Map.Entry<String, String> header : request.headers()) {
            headers.addUnsafeNonAscii(header.getKey(), header.getValue());
        }
        if (headers.get("User-Agent") == null) headers.add("User-Agent", "waybill");
        // Asked for and needed: the other side closes first, so the port in TIME_WAIT is not ours.
        headers.set("Connection", "close");
        // So that the bytes we keep as evidence are the provider's bytes.
        headers.set("Accept-Encoding", "identity");
        return new Request.Builder()
                .url(request.destination().url())
                .headers(headers.build())
                .method(request.method(), request.body() == null ? null : new OneShot(request.body()))
                .tag(Wire.class, wire)
                .tag(Answer.class, answer)
                .build();
    }

    /**
     * A view of the shared client, bound to this call's addresses and sockets. Not by an interceptor: the shared client keeps failed
     * routes for ever, and each would hold on to its call; a view with its own Dns has its own list. It also makes every call's address
     * a different one, so no pool could ever match two calls.
     */
    private OkHttpClient bound(Wire wire) {
        long millis = Math.clamp(wire.request().timeout().toMillis() + 1, 1, Integer.MAX_VALUE);
        // The call's deadline rules. Connecting shares it among the addresses, so that a dead one leaves time for the next; the others
        // bound a single read or write should the deadline's watchdog ever fail.
        long connect = Math.max(1, millis / wire.request().destination().addresses().size());
        return client.newBuilder()
                .dns(wire)
                .socketFactory(wire.sockets())
                .connectTimeout(connect, TimeUnit.MILLISECONDS)
                .readTimeout(millis, TimeUnit.MILLISECONDS)
                .writeTimeout(millis, TimeUnit.MILLISECONDS)
                .build();
    }

    /**
     * The one place through which a request leaves, and where its whole answer is taken. What goes back to the library is a neutral 200:
     * it follows up on 503 with Retry-After: 0, on 401, on 408, and refuses a 407, whatever its settings say (libraries.md note 2).
     */
    private static Response sendOnce(Interceptor.Chain chain) throws IOException {
        Wire wire = tag(chain, Wire.class);
        Answer answer = tag(chain, Answer.class);
        wire.takePermit();
        try (Response response = chain.proceed(chain.request())) {
            // The library also takes ICY and SOURCETABLE for HTTP.
            if (wire.head().status() != AnswerHead.GARBLED) answer.read(response, wire.request().maxReplyBytes());
            if (!answer.finished() || answer.completeness == Completeness.TOO_LARGE) {
                // Or close() would read on for a while to save the connection.
                chain.call().cancel();
            }
        }
        return new Response.Builder()
                .request(chain.request())
                .protocol(Protocol.HTTP_1_1)
                .code(200)
                .message("")
                .body(ResponseBody.create("", null))
                .build();
    }

    private static <T> T tag(Interceptor.Chain chain, Class<T> type) {
        T tag = chain.request().tag(type);
        if (tag == null) throw new IllegalStateException("a call without its " + type.getSimpleName());
        return tag;
    }

    /** What was read of the answer. Written and read by the caller's thread only. */
    private static final class Answer {
        private int status;
        private Map<String, List<String>> headers = Map.of();
        private byte[] body = new byte[0];
        private Completeness completeness = Completeness.CUT;

        boolean finished() {
            return completeness != Completeness.CUT;
        }

        void read(Response response, int cap) {
            status = response.code();
            headers = headers(response.headers());
            Buffer kept = new Buffer();
            try {
                completeness = read(response, kept, cap);
            } catch (IOException | RuntimeException e) {
                // RuntimeException: a negative Content-Length and other framing the library does not survive.
                completeness = Completeness.CUT;
            }
            long size = completeness == Completeness.TOO_LARGE ? Math.min(kept.size(), WINDOW) : kept.size();
            body = kept.snapshot((int) size).toByteArray();
        }

        private Completeness read(Response response, Buffer kept, int cap) throws IOException {
            BufferedSource source = response.body().source();
            boolean announcedTooLarge = response.body().contentLength() > cap;
            while (source.read(kept, READ_CHUNK) >= 0) {
                if (announcedTooLarge ? kept.size() >= WINDOW : kept.size() > cap) return Completeness.TOO_LARGE;
            }
            return kept.size() > cap ? Completeness.TOO_LARGE : framing(response);
        }

        /** Called at the body's end as the library saw it: what does that end prove? Follows RFC 9112 section 6.3. */
        private static Completeness framing(Response response) {
            int status = response.code();
            if (response.request().method().equals("HEAD") || status == 204 || status == 304) return Completeness.COMPLETE;
            List<String> codings = response.headers("Transfer-Encoding");
            if (!codings.isEmpty()) {
                return codings.getLast().equalsIgnoreCase("chunked") ? Completeness.COMPLETE : Completeness.CUT;
            }
            List<String> lengths = response.headers("Content-Length").stream().distinct().toList();
            if (lengths.isEmpty()) return Completeness.UNPROVEN;
            boolean sound = lengths.size() == 1 && lengths.getFirst().matches("[0-9]{1,18}");
            return sound ? Completeness.COMPLETE : Completeness.CUT;
        }

        private static Map<String, List<String>> headers(Headers headers) {
            Map<String, List<String>> all = new LinkedHashMap<>();
            for (int i = 0; i < headers.size(); i++) {
                all.computeIfAbsent(headers.name(i).toLowerCase(Locale.ROOT), name -> new ArrayList<>()).add(headers.value(i));
            }
            return all;
        }

        WireAnswer toWire(String stop) {
            return new WireAnswer(Phase.ANSWERED, status, headers, body, completeness, stop, "");
        }
    }

    private static final class OneShot extends RequestBody {
        private final byte[] bytes;

        OneShot(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public @Nullable MediaType contentType() {
            return null;
        }

        @Override
        public long contentLength() {
            return bytes.length;
        }

        @Override
        public boolean isOneShot() {
            return true;
        }

        @Override
        public void writeTo(BufferedSink sink) throws IOException {
            sink.write(bytes);
        }
    }
}

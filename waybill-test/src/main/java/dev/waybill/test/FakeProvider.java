package dev.waybill.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * "Acme Pay": a real HTTP/1.1 server on loopback with a ledger file of its own and a fault script. What a system under test claims can be
 * held against {@link #ledger()}, which that system cannot write. Without rules it is a sane payments API (see {@link PaymentsApi}); with
 * {@link Rule}s it resets, stalls, half-answers or waits. All methods are safe for concurrent use.
 */
public final class FakeProvider implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FakeProvider.class);

    private final Acceptor acceptor;
    private final Ledger ledger;
    private final boolean deleteLedger;
    private final PaymentsApi api;
    private final @Nullable Function<Delivery, String> witness;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final Map<Long, CountDownLatch> releases = new ConcurrentHashMap<>();
    private final List<Consumer<Delivery>> bookedHooks = new CopyOnWriteArrayList<>();
    private final CountDownLatch closing = new CountDownLatch(1);
    private final AtomicLong connections = new AtomicLong();
    private final AtomicLong heads = new AtomicLong();
    private final AtomicLong headsBeforeReset = new AtomicLong();
    private final AtomicLong ledgerBeforeReset = new AtomicLong();

    // Guarded by this; a wait for an arrival waits on it.
    private final List<Rule> rules = new ArrayList<>();
    private final Map<Rule, Integer> used = new IdentityHashMap<>();
    private final List<Delivery> deliveries = new ArrayList<>();
    private final List<Delivery> applications = new ArrayList<>();

    private FakeProvider(
            int port, Ledger ledger, boolean deleteLedger, PaymentsApi api, @Nullable Function<Delivery, String> witness)
            throws IOException {
        this.ledger = ledger;
        this.witness = witness;
        this.deleteLedger = deleteLedger;
        this.api = api;
        this.acceptor = new Acceptor(port, this::accepted);
    }

    /** On a free port, with a ledger in a temporary file, ignoring idempotency keys. */
    public static FakeProvider start() {
        return builder().start();
    }

    public static Builder builder() {
        return new Builder();
    }

    /** How a provider is to be. */
    public static final class Builder {
        private int port;
        private @Nullable Path ledger;
        private boolean honoursKeys;
        private @Nullable Duration keyWindow;
        private Duration lag = Duration.ZERO;
        private @Nullable Function<Delivery, String> witness;
        private InstantSource clock = InstantSource.system();

        private Builder() {}

        /** @param loopbackPort 0 = any; one that is taken makes {@link #start} throw */
        public Builder port(int loopbackPort) {
            this.port = loopbackPort;
            return this;
        }

        /** A file to append to; it stays when the provider is closed. */
        public Builder ledger(Path file) {
            this.ledger = file;
            return this;
        }

        /** Same Idempotency-Key and request: the stored answer, nothing booked; same key, other request: 422. */
        public Builder honouringKeys() {
            this.honoursKeys = true;
            return this;
        }

        /** Looks at the sender's own books when a request has arrived and before anything is done; what it says is in the ledger's line. */
        public Builder witness(Function<Delivery, String> look) {
            this.witness = look;
            return this;
        }

        /** As {@link #honouringKeys()}, for so long after the first request with a key; then the key is new again. */
        public Builder honouringKeys(Duration window) {
            this.keyWindow = window;
            return honouringKeys();
        }

        /** Look-ups show a booking only so long after it was made. */
        public Builder lookUpsLag(Duration behind) {
            this.lag = behind;
            return this;
        }

        /** Stamps the ledger; the key window and the lag of look-ups go by it. */
        public Builder clock(InstantSource source) {
            this.clock = source;
            return this;
        }

        public FakeProvider start() {
            try {
                boolean temporary = ledger == null;
                Path file = ledger != null ? ledger : Files.createTempFile("acme-pay-", ".jsonl");
                var opened = new Ledger(file, clock);
                try {
                    return new FakeProvider(port, opened, temporary, new PaymentsApi(honoursKeys, keyWindow, lag, clock), witness);
                } catch (IOException portTaken) {
                    opened.close();
                    if (temporary) {
                        Files.delete(file);
                    }
                    throw portTaken;
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private void accepted(Socket socket) {
        sockets.add(socket);
        new ProviderConnection(this, socket, connections.incrementAndGet()).run();
    }

    public int port() {
        return acceptor.port();
    }

    /** @param path with its slash */
    public String url(String path) {
        return "http://127.0.0.1:" + port() + path;
    }

    public URI uri(String path) {
        return URI.create(url(path));
    }

    // --- the script ------------------------------------------------------------------------------------------------------------

    /** Puts these in place of all rules. */
    public synchronized void script(Rule... script) {
        rules.clear();
        used.clear();
        addRules(List.of(script));
    }

    /** Adds behind those there are. */
    public synchronized void addRules(List<Rule> more) {
        rules.addAll(more);
    }

    /** Called after the ledger has the application and before the answer, on the connection's thread: the answer waits for it. */
    public void onBooked(Consumer<Delivery> hook) {
        bookedHooks.add(hook);
    }

    /** Ends the wait of one delivery that is paused, swallowed or stalled. */
    public void release(long delivery) {
        releases.computeIfAbsent(delivery, number -> new CountDownLatch(1)).countDown();
    }

    /** Ends the wait of every delivery so far. */
    public void releaseAll() {
        for (long delivery = 1; delivery <= heads.get(); delivery++) {
            release(delivery);
        }
    }

    /** Forgets rules, hooks, counts and bookings; the file keeps its lines, {@link #ledger()} shows those that come after. */
    public void reset() {
        releaseAll();
        bookedHooks.clear();
        synchronized (this) {
            rules.clear();
            used.clear();
            deliveries.clear();
            applications.clear();
            headsBeforeReset.set(heads.get());
            ledgerBeforeReset.set(ledger.size());
        }
        api.reset();
    }

    // --- what happened ---------------------------------------------------------------------------------------------------------

    /** Requests whose head was read, whatever became of them. */
    public int seen() {
        return (int) (heads.get() - headsBeforeReset.get());
    }

    /** Complete requests that fit. */
    public synchronized int seen(Predicate<Delivery> fits) {
        return (int) deliveries.stream().filter(fits).count();
    }

    /** How often it was really done. */
    public synchronized int applied() {
        return applications.size();
    }

    public synchronized int applied(Predicate<Delivery> fits) {
        return (int) applications.stream().filter(fits).count();
    }

    /** True when {@code made} connections have come so far and all of them have ended: what it was sent it has dealt with. */
    public boolean idleAfter(long made) {
        return connections.get() >= made && sockets.isEmpty();
    }

    /** Complete requests in order of arrival. */
    public synchronized List<Delivery> deliveries() {
        return List.copyOf(deliveries);
    }

    public synchronized List<Delivery> applications() {
        return List.copyOf(applications);
    }

    /** Counts, for example {@code counts(provider.applications(), Delivery::content)}; requests without the property are left out. */
    public static Map<String, Integer> counts(List<Delivery> of, Function<Delivery, @Nullable String> by) {
        Map<String, Integer> counts = new TreeMap<>();
        for (Delivery delivery : of) {
            String property = by.apply(delivery);
            if (property != null) {
                counts.merge(property, 1, Integer::sum);
            }
        }
        return counts;
    }

    public Map<String, Integer> appliedPerKey() {
        return counts(applications(), Delivery::idempotencyKey);
    }

    public Map<String, Integer> appliedPerPath() {
        return counts(applications(), Delivery::path);
    }

    public Map<String, Integer> appliedPerContent() {
        return counts(applications(), Delivery::content);
    }

    /** Waits for a request that fits, arrived already or still to come. */
    public Delivery awaitDelivery(Predicate<Delivery> fits, Duration timeout) {
        try {
            Delivery found = await(fits, System.nanoTime() + timeout.toNanos());
            if (found != null) {
                return found;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        throw new AssertionError("no such request within " + timeout + "; arrived: " + deliveries());
    }

    private synchronized @Nullable Delivery await(Predicate<Delivery> fits, long deadline) throws InterruptedException {
        for (int i = 0; ; i++) {
            while (i >= deliveries.size()) {
                long left = deadline - System.nanoTime();
                if (left <= 0 || closing.getCount() == 0) {
                    return null;
                }
                TimeUnit.NANOSECONDS.timedWait(this, left);
            }
            if (fits.test(deliveries.get(i))) {
                return deliveries.get(i);
            }
        }
    }

    /** The file's lines, read back. */
    public List<LedgerEntry> ledger() {
        return Ledger.read(ledger.file()).stream().filter(entry -> entry.seq() > ledgerBeforeReset.get()).toList();
    }

    public Path ledgerPath() {
        return ledger.file();
    }

    /** {@code {seen, applied, connections, applied_per_key, applied_per_path, applied_per_content}}. */
    ObjectNode stats() {
        ObjectNode stats = Json.MAPPER.createObjectNode();
        stats.put("seen", seen()).put("applied", applied()).put("connections", connections.get());
        stats.set("applied_per_key", Json.MAPPER.valueToTree(appliedPerKey()));
        stats.set("applied_per_path", Json.MAPPER.valueToTree(appliedPerPath()));
        stats.set("applied_per_content", Json.MAPPER.valueToTree(appliedPerContent()));
        return stats;
    }

    @Override
    public void close() {
        try {
            closing.countDown();
            acceptor.close();
            releaseAll();
            synchronized (this) {
                notifyAll();
            }
            for (Socket socket : sockets) {
                socket.close();
            }
            ledger.close();
            if (deleteLedger) {
                Files.deleteIfExists(ledger.file());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // --- for the connections ---------------------------------------------------------------------------------------------------

    Ledger ledgerFile() {
        return ledger;
    }

    long headRead() {
        return heads.incrementAndGet();
    }

    void badRequest(long connection, IOException why) {
        LOG.warn("Acme Pay cannot read the request on connection {}: {}", connection, why.getMessage());
    }

    void forget(Socket socket) {
        sockets.remove(socket);
    }

    /** Writes the delivery down, then lets the script decide. */
    Behaviour arrived(Delivery delivery) throws IOException {
        ledger.delivery(delivery, null, witness == null ? null : witness.apply(delivery));
        synchronized (this) {
            deliveries.add(delivery);
            notifyAll();
            for (Rule rule : rules) {
                if (rule.matches(delivery)) {
                    int before = used.getOrDefault(rule, 0);
                    Behaviour behaviour = rule.behaviour(before);
                    if (behaviour != null) {
                        used.put(rule, before + 1);
                        return behaviour;
                    }
                }
            }
        }
        return Behaviour.normal();
    }

    PaymentsApi.Answer book(Delivery delivery, Behaviour behaviour) throws IOException {
        if (!behaviour.books()) {
            return PaymentsApi.Answer.of(200, Json.MAPPER.createObjectNode());
        }
        PaymentsApi.Answer answer = api.handle(delivery);
        if (answer.booked() != null) {
            ledger.apply(delivery, answer.booked(), behaviour.label());
            synchronized (this) {
                applications.add(delivery);
            }
            bookedHooks.forEach(hook -> hook.accept(delivery));
        }
        return answer;
    }

    void answering(Delivery delivery, Behaviour behaviour, PaymentsApi.Answer answer) throws IOException {
        boolean says = !(behaviour.wire() instanceof Behaviour.Wire.Reset
                || behaviour.wire() instanceof Behaviour.Wire.Close
                || behaviour.wire() instanceof Behaviour.Wire.Silence);
        ObjectNode said = Json.MAPPER.createObjectNode();
        said.put("status", answer.status());
        said.put("body", new String(answer.body(), java.nio.charset.StandardCharsets.UTF_8));
        ledger.answer(delivery, says ? said : null, behaviour.label());
    }

    void hold(Behaviour.@Nullable Hold hold, Delivery delivery) throws IOException, InterruptedException {
        if (hold == null) {
            return;
        }
        switch (hold) {
            case Behaviour.Hold.Released() -> release(delivery).await();
            case Behaviour.Hold.Passed(long millis) -> pause(millis);
            case Behaviour.Hold.Arrived(Match match) -> await(match, System.nanoTime() + Long.MAX_VALUE / 2);
            case Behaviour.Hold.ArrivedIf(Predicate<Delivery> condition) -> await(condition, System.nanoTime() + Long.MAX_VALUE / 2);
            case Behaviour.Hold.Open(CountDownLatch latch) -> {
                while (!latch.await(50, TimeUnit.MILLISECONDS)) {
                    pause(0);
                }
            }
        }
        pause(0);
    }

    private CountDownLatch release(Delivery delivery) {
        return releases.computeIfAbsent(delivery.number(), number -> new CountDownLatch(1));
    }

    void silence(Delivery delivery, long millis) throws InterruptedException {
        if (millis > 0) {
            var unused = release(delivery).await(millis, TimeUnit.MILLISECONDS);
        } else {
            release(delivery).await();
        }
    }

    /** @throws IOException when the provider closes meanwhile or has closed */
    void pause(long millis) throws IOException, InterruptedException {
        if (closing.await(millis, TimeUnit.MILLISECONDS)) {
            throw new IOException("the provider is closed");
        }
    }

    // --- as a process of its own -----------------------------------------------------------------------------------------------

    /**
     * {@code --port N (0 = any) --ledger FILE [--control] [--honour-keys]}: prints {@code control PORT} when asked for and then
     * {@code listening PORT}, and runs until its control API says shutdown or its standard input ends, so that it never outlives a
     * director that was killed.
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        Builder builder = builder();
        boolean control = false;
        for (int i = 0; i < arguments.length; i++) {
            switch (arguments[i]) {
                case "--port" -> builder.port(Integer.parseInt(arguments[++i]));
                case "--ledger" -> builder.ledger(Path.of(arguments[++i]));
                case "--honour-keys" -> builder.honouringKeys();
                case "--control" -> control = true;
                default -> throw new IllegalArgumentException("unknown argument " + arguments[i]
                        + "; known: --port N --ledger FILE --control --honour-keys");
            }
        }
        FakeProvider provider = builder.start();
        try (ControlServer server = control ? new ControlServer(provider) : null) {
            if (server != null) {
                System.out.println("control " + server.port());
            }
            System.out.println("listening " + provider.port());
            Thread.ofPlatform().daemon().name("acme-pay-stdin").start(() -> awaitEndOfInput(provider));
            provider.closing.await();
        }
    }

    private static void awaitEndOfInput(FakeProvider provider) {
        try (provider) {
            System.in.transferTo(java.io.OutputStream.nullOutputStream());
        } catch (IOException e) {
            LOG.warn("standard input broke", e);
        }
    }
}

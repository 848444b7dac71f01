package dev.waybill.lab.sim;

import dev.waybill.lab.sim.Fault.Kind;
import dev.waybill.lab.sim.SimProvider.Answer;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.Destination;
import dev.waybill.transport.Transport;
import dev.waybill.transport.WireAnswer;
import dev.waybill.transport.WireAnswer.Completeness;
import dev.waybill.transport.WireAnswer.Phase;
import dev.waybill.transport.WireRequest;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The network between a process and the provider: http_request runs as it is and sends through this. What it reports is what the real
 * transport reports in the same phase; what comes of it is decided by the engine's own table (HttpOutcome).
 */
final class SimTransport implements Transport {
    /** Where programs send to; the second needs a look-up, so that its intent cannot ride with the settle before it. */
    static final String ADDRESS = "http://127.0.0.1:8080";
    static final String NAME = "http://provider.test:8080";

    private static final long US = 1_000;

    private final World world;
    private final Cluster cluster;
    private final World.Process process;
    private final Plan plan;
    private final Tally tally;
    private final SimProvider provider;
    private final SplittableRandom random;
    private final boolean scripted;
    /** A destination shows no query: credentials travel there. */
    private final Map<Destination, String> urls = new WeakHashMap<>();

    private final AddressPolicy policy =
            AddressPolicy.fromConfig(List.of("127.0.0.1:8080", "provider.test:8080"), true);

    SimTransport(World world, Cluster cluster, World.Process process, Plan plan, Tally tally, SimProvider provider, SplittableRandom random, boolean scripted) {
        this.world = world;
        this.cluster = cluster;
        this.process = process;
        this.plan = plan;
        this.tally = tally;
        this.provider = provider;
        this.random = random;
        this.scripted = scripted;
    }

    /** What has come back so far. */
    private static final class Line {
        @Nullable Answer answer;
        boolean closed;
        boolean cut;
        boolean garbled;

        boolean ended() {
            return answer != null || closed;
        }
    }

    @Override
    public AddressPolicy.Verdict vet(String url) {
        boolean asks = AddressPolicy.needsLookup(url);
        if (asks) {
            world.await(null, latency());
        }
        AddressPolicy.Verdict verdict = policy.vet(url, host -> List.of(loopback()));
        if (verdict instanceof AddressPolicy.Verdict.Allowed(Destination destination)) {
            urls.put(destination, url);
        }
        return verdict;
    }

    private static InetAddress loopback() {
        try {
            return InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    private long latency() {
        return random.nextLong(50 * US, 3_000 * US);
    }

    @Override
    public WireAnswer send(WireRequest request) {
        long deadline = world.nanos() + request.timeout().toNanos();
        String site = "wire " + process.name;
        boolean reads = header(request, "Waybill-Effect-Id") == null;
        // A refused connection uses up an attempt, and a lost read the step: for a script that would be another result.
        Fault fault = reads
                ? provider.heals() ? plan.at("asks " + process.name, Kind.PACKET_LOST, Kind.ANSWER_LOST, Kind.ANSWER_LATE, Kind.CRASH, Kind.PAUSE) : null
                : scripted
                ? plan.at(
                        site, Kind.PACKET_LATE, Kind.PACKET_LOST, Kind.ANSWER_LOST, Kind.ANSWER_LATE, Kind.ANSWER_CUT, Kind.ANSWER_GARBLED,
                        Kind.CRASH, Kind.PAUSE)
                : plan.at(
                site, Kind.NO_ROUTE, Kind.CONNECT_SLOW, Kind.PACKET_LATE, Kind.PACKET_LOST, Kind.ANSWER_LOST, Kind.ANSWER_LATE,
                Kind.ANSWER_CUT, Kind.ANSWER_GARBLED, Kind.CRASH, Kind.PAUSE);
        Kind kind = fault == null ? null : fault.kind();
        long nanos = fault == null ? 0 : fault.nanos();
        if (kind != null) {
            tally.add("wire " + kind.name().toLowerCase(java.util.Locale.ROOT));
        }
        world.await(null, Math.min(deadline - world.nanos(), kind == Kind.CONNECT_SLOW ? nanos : latency()));
        if (Thread.interrupted()) {
            return WireAnswer.notSent(WireAnswer.STOP_INTERRUPTED, "");
        }
        if (world.nanos() >= deadline && scripted) {
            return WireAnswer.notSent(WireAnswer.STOP_LATE, ""); // a pause; as a refused connection it would use up an attempt
        }
        if (world.nanos() >= deadline) {
            return WireAnswer.notSent(WireAnswer.STOP_TIMEOUT, "connect timed out");
        }
        if (kind == Kind.NO_ROUTE) {
            return WireAnswer.notSent(WireAnswer.STOP_UNREACHABLE, "Connection refused");
        }
        if (request.late().getAsBoolean()) {
            tally.add("last look too late");
            return WireAnswer.notSent(WireAnswer.STOP_LATE, "");
        }
        try {
            request.firstByte().run();
        } catch (IllegalStateException e) {
            return WireAnswer.notSent(WireAnswer.STOP_INTERRUPTED, "");
        }
        cluster.leaves(header(request, "Waybill-Effect-Id"));
        Line line = new Line();
        SimProvider.Request sent = sent(request);
        long way = kind == Kind.PACKET_LATE ? nanos : latency();
        if (kind == Kind.PACKET_LOST) {
            world.after(way, () -> line.closed = true);
        } else {
            world.after(way, () -> arrive(sent, line, kind, nanos));
        }
        world.note(process.name, "sends " + sent.target() + " of " + sent.effectId() + (fault == null ? "" : "  !" + fault));
        if (kind == Kind.CRASH) {
            world.after(random.nextLong(way * 2), () -> crash());
        } else if (kind == Kind.PAUSE) {
            world.after(random.nextLong(way * 2), () -> world.freeze(process, nanos));
        }
        world.await(line::ended, deadline - world.nanos());
        WireAnswer heard = heard(line);
        if (heard.phase() == Phase.ANSWERED) {
            cluster.heard(process, sent.effectId());
        }
        return heard;
    }

    private void crash() {
        if (!process.dead()) {
            world.note(process.name, "dies while a request is on its way");
            world.kill(process);
        }
    }

    private SimProvider.Request sent(WireRequest request) {
        String url = urls.getOrDefault(request.destination(), request.destination().toString());
        return new SimProvider.Request(
                request.method(), url.substring(url.indexOf('/', "http://".length())), header(request, "Waybill-Effect-Id"),
                header(request, "Idempotency-Key"), request.body());
    }

    private static @Nullable String header(WireRequest request, String name) {
        return request.headers().stream()
                .filter(header -> header.getKey().equalsIgnoreCase(name))
                .map(Map.Entry::getValue)
                .findFirst()
                .orElse(null);
    }

    private void arrive(SimProvider.Request request, Line line, @Nullable Kind kind, long nanos) {
        Answer answer = provider.receive(request);
        if (kind == Kind.ANSWER_LOST) {
            return;
        }
        long way = kind == Kind.ANSWER_LATE ? nanos : latency();
        world.after(way, () -> {
            line.answer = answer;
            line.closed = answer == null;
            // A no that client_error_mode makes data keeps what arrived of its body: which, the reference interpreter cannot know.
            line.cut = kind == Kind.ANSWER_CUT && answer != null && answer.status() / 100 != 4;
            line.garbled = kind == Kind.ANSWER_GARBLED;
        });
    }

    private static WireAnswer heard(Line line) {
        Answer answer = line.answer;
        if (answer != null && !line.garbled) {
            byte[] body = line.cut ? Arrays.copyOf(answer.body(), answer.body().length / 2) : answer.body();
            return new WireAnswer(
                    Phase.ANSWERED, answer.status(), answer.headers(), body, line.cut ? Completeness.CUT : Completeness.COMPLETE,
                    line.cut ? WireAnswer.STOP_CUT : "", "");
        }
        String stop = line.garbled
                ? WireAnswer.STOP_GARBLED
                : line.closed ? WireAnswer.STOP_CLOSED : Thread.interrupted() ? WireAnswer.STOP_INTERRUPTED : WireAnswer.STOP_TIMEOUT;
        return new WireAnswer(Phase.MAYBE_SENT, 0, Map.of(), new byte[0], Completeness.CUT, stop, "");
    }
}

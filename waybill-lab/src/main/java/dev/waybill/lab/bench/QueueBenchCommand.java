package dev.waybill.lab.bench;

import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.store.Queries;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.Store;
import dev.waybill.test.ManyReceipts;
import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code ./waybill lab queue-bench}: how long the queue's pages and every search take among many receipts. Time in the server: the
 * statement, its rows read; the first of the repetitions is printed beside their median and the slowest.
 */
@Command(
        name = "queue-bench",
        mixinStandardHelpOptions = true,
        description = "Loads receipts and times the first page of the queue, the next one, and each search the API offers.")
public final class QueueBenchCommand implements Callable<Integer> {
    private static final int PAGE = 50;

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--store",
            defaultValue = BenchTarget.TEMPORARY_SQLITE,
            description = "postgresql://USER[:PASS]@HOST:PORT/DB (an empty database), sqlite:FILE, temporary-postgres or temporary-sqlite")
    private String store;

    @Option(names = "--receipts", defaultValue = "1000000")
    private int receipts;

    @Option(names = "--unknown", defaultValue = "10000")
    private int unknown;

    @Option(names = "--repeat", defaultValue = "15")
    private int repeat;

    @Option(names = "--limit-ms", defaultValue = "0", description = "exit 1 when a median is above it; 0: only print")
    private double limit;

    @Override
    public Integer call() throws SQLException {
        PrintWriter out = spec.commandLine().getOut();
        boolean slow = false;
        try (BenchTarget target = new BenchTarget(store);
                Store opened = target.open()) {
            opened.migrate();
            long start = System.nanoTime();
            try (Connection connection = target.connect()) {
                new ManyReceipts(receipts, unknown).load(connection);
            }
            out.printf(
                    Locale.ROOT, "%s: %,d receipts, %,d unknown, loaded in %.0f s%n%-34s %5s %9s %9s %9s%n", store, receipts, unknown,
                    (System.nanoTime() - start) / 1e9, "search", "rows", "first ms", "median", "slowest");
            for (Map.Entry<String, EffectFilter> search : searches(opened.queries()).entrySet()) {
                slow |= time(out, opened.queries(), search.getKey(), search.getValue()) > limit;
            }
        }
        out.flush();
        return limit > 0 && slow ? 1 : 0;
    }

    private double time(PrintWriter out, Queries queries, String name, EffectFilter filter) {
        double[] millis = new double[repeat];
        int rows = 0;
        for (int i = 0; i < repeat; i++) {
            long start = System.nanoTime();
            rows = queries.effects(filter).size();
            millis[i] = (System.nanoTime() - start) / 1e6;
        }
        double first = millis[0];
        Arrays.sort(millis);
        out.printf(Locale.ROOT, "%-34s %5d %9.1f %9.1f %9.1f%n", name, rows, first, millis[repeat / 2], millis[repeat - 1]);
        out.flush();
        return millis[repeat / 2];
    }

    /** The oldest of the queue is what is looked for: whoever reads on from the newest meets it last. */
    private static Map<String, EffectFilter> searches(Queries queries) {
        EffectFilter queue = filter(true, Set.of(), f -> f);
        List<EffectView> page = queries.effects(queue);
        EffectView newest = page.getFirst();
        EffectView last = oldest(queries);
        EffectView settled = queries.effects(filter(false, Set.of(EffectState.COMMITTED), f -> f)).getLast();
        String order = "o-" + key(last).substring("key-".length());
        String providerId = "pi_" + key(settled).substring("key-".length());
        Instant day = newest.since().minus(Duration.ofDays(1));
        Map<String, EffectFilter> searches = new LinkedHashMap<>();
        searches.put("queue: first page", queue);
        searches.put("queue: next page", filter(true, Set.of(), f -> f.after(page.getLast().cursor())));
        searches.put("queue: last page", filter(true, Set.of(), f -> f.after(last.cursor())));
        searches.put("state=unknown", filter(false, Set.of(EffectState.UNKNOWN), f -> f));
        for (boolean open : new boolean[] {true, false}) {
            String where = open ? "queue: " : "all: ";
            EffectView one = open ? last : settled;
            searches.put(where + "q=id", filter(open, Set.of(), f -> f.word(one.receipt().id().toString())));
            searches.put(where + "q=key", filter(open, Set.of(), f -> f.word(key(one))));
            searches.put(where + "q=provider id", filter(open, Set.of(), f -> f.word(providerId)));
            searches.put(where + "q=nothing there", filter(open, Set.of(), f -> f.word("nowhere")));
            searches.put(where + "idempotency_key", filter(open, Set.of(), f -> f.key(key(one))));
            searches.put(where + "provider_receipt_id", filter(open, Set.of(), f -> f.provider(providerId)));
            searches.put(where + "instance_id", filter(open, Set.of(), f -> f.instance(one.instance())));
            searches.put(where + "execution", filter(open, Set.of(), f -> f.execution(one.instance().id())));
            searches.put(where + "from/to one hour", filter(open, Set.of(), f -> f.from(day).to(day.plus(Duration.ofHours(1)))));
            searches.put(where + "from one day", filter(open, Set.of(), f -> f.from(day)));
            searches.put(where + "one hour, label", filter(open, Set.of(), f -> f.from(day).to(day.plus(Duration.ofHours(1))).label("nowhere")));
        }
        searches.put("queue: q=label", filter(true, Set.of(), f -> f.word(order)));
        searches.put("queue: label", filter(true, Set.of(), f -> f.label(order)));
        searches.put("queue: label, nothing there", filter(true, Set.of(), f -> f.label("nowhere")));
        searches.put("queue: label of all", filter(true, Set.of(), f -> f.label("EUR")));
        searches.put("queue: q=request hash", filter(true, Set.of(), f -> f.word(last.receipt().requestSha256())));
        searches.put("queue: request_sha256", filter(true, Set.of(), f -> f.hash(last.receipt().requestSha256())));
        searches.put("queue: fingerprint", filter(true, Set.of(), f -> f.fingerprint(last.receipt().destinationFingerprint())));
        searches.put("queue: block", filter(true, Set.of(), f -> f.block(last.receipt().path())));
        searches.put("queue: epoch", filter(true, Set.of(), f -> f.epoch(last.receipt().claim().epoch())));
        searches.put("queue: attempt", filter(true, Set.of(), f -> f.attempt(0)));
        searches.put("queue: attempt, nothing there", filter(true, Set.of(), f -> f.attempt(7)));
        searches.put("all: newest", filter(false, Set.of(), f -> f));
        searches.put("all: committed", filter(false, Set.of(EffectState.COMMITTED), f -> f));
        return searches;
    }

    private static String key(EffectView view) {
        return Objects.requireNonNull(view.receipt().idempotencyKey());
    }

    private static EffectView oldest(Queries queries) {
        EffectView last = queries.effects(filter(true, Set.of(), f -> f)).getLast();
        while (true) {
            String after = last.cursor();
            List<EffectView> page = queries.effects(filter(true, Set.of(), f -> f.after(after).limit(1000)));
            if (page.isEmpty()) {
                return last;
            }
            last = page.getLast();
        }
    }

    private static EffectFilter filter(boolean open, Set<EffectState> states, UnaryOperator<Search> fields) {
        return fields.apply(new Search(open, states)).filter();
    }

    /** The filter's fields by name; what is not said is not asked. */
    private static final class Search {
        private final boolean open;
        private final Set<EffectState> states;
        private @Nullable InstanceKey instance;
        private @Nullable UUID execution;
        private @Nullable String word;
        private @Nullable String block;
        private @Nullable String hash;
        private @Nullable String fingerprint;
        private @Nullable String key;
        private @Nullable String provider;
        private @Nullable Long epoch;
        private @Nullable Integer attempt;
        private @Nullable String label;
        private @Nullable Instant from;
        private @Nullable Instant to;
        private @Nullable String after;
        private int limit = PAGE;

        Search(boolean open, Set<EffectState> states) {
            this.open = open;
            this.states = states;
        }

        Search instance(InstanceKey value) {
            instance = value;
            return this;
        }

        Search execution(UUID value) {
            execution = value;
            return this;
        }

        Search word(String value) {
            word = value;
            return this;
        }

        Search block(String value) {
            block = value;
            return this;
        }

        Search hash(String value) {
            hash = value;
            return this;
        }

        Search fingerprint(String value) {
            fingerprint = value;
            return this;
        }

        Search key(String value) {
            key = value;
            return this;
        }

        Search provider(String value) {
            provider = value;
            return this;
        }

        Search epoch(Long value) {
            epoch = value;
            return this;
        }

        Search attempt(Integer value) {
            attempt = value;
            return this;
        }

        Search label(String value) {
            label = value;
            return this;
        }

        Search from(Instant value) {
            from = value;
            return this;
        }

        Search to(Instant value) {
            to = value;
            return this;
        }

        Search after(String value) {
            after = value;
            return this;
        }

        Search limit(int value) {
            limit = value;
            return this;
        }

        EffectFilter filter() {
            return new EffectFilter(
                    ManyReceipts.TENANT, open, states, instance, execution, word, null, block, hash, fingerprint, key, provider, epoch, attempt,
                    label, from, to, after, limit);
        }
    }
}

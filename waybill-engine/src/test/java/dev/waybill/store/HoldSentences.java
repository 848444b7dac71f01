package dev.waybill.store;

import static dev.waybill.store.StoreLab.TENANT;
import static dev.waybill.store.StoreLab.nextId;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.DestinationHolds.Admission;
import dev.waybill.store.DestinationHolds.Place;
import dev.waybill.store.DestinationHolds.Standing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Which destinations are held: counted, probed and released by the database alone. */
abstract class HoldSentences extends StoreSentences {
    private static final Place PAY = new Place(TENANT, "https://api.pay.example/v1", "pay");
    private static final InstanceKey RUN = new InstanceKey(TENANT, nextId());
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final Duration LONG = Duration.ofHours(1);
    private static final Duration SHORT = Duration.ofMillis(1);

    private boolean unknown(UUID receipt, Duration within, Duration probe) {
        return store().holds().unknown(PAY, receipt, RUN, 3, within, probe);
    }

    private void hold(Duration probe) {
        for (int i = 0; i < 3; i++) {
            unknown(nextId(), MINUTE, probe);
        }
    }

    private Admission admit(Place place, UUID receipt, Duration probe) {
        return store().holds().admit(place, receipt, probe);
    }

    private List<String> events() {
        return store().queries().changes(TENANT, null, 100).stream().map(Queries.Change::type).filter(type -> type.startsWith("destination.")).toList();
    }

    @Test
    void enoughUnknownsWithinTheTimeHold_eachReceiptCountsOnce_andItIsToldOnce() {
        UUID first = nextId();
        assertThat(unknown(first, MINUTE, LONG)).isFalse();
        assertThat(unknown(first, MINUTE, LONG)).isFalse();
        assertThat(unknown(first, MINUTE, LONG)).isFalse();
        assertThat(unknown(nextId(), MINUTE, LONG)).isFalse();
        assertThat(admit(PAY, nextId(), LONG)).isEqualTo(new Admission.Go());
        assertThat(unknown(nextId(), MINUTE, LONG)).isTrue();
        assertThat(unknown(nextId(), MINUTE, LONG)).isFalse();
        assertThat(admit(PAY, nextId(), LONG)).isInstanceOfSatisfying(Admission.Held.class, held -> assertThat(held.againInMillis()).isBetween(1L, LONG.toMillis()));
        assertThat(admit(new Place("globex", PAY.destination(), "pay"), nextId(), LONG)).isEqualTo(new Admission.Go());
        assertThat(admit(new Place(TENANT, "https://api.pay.example", "other"), nextId(), LONG)).isEqualTo(new Admission.Go());
        assertThat(events()).containsExactly("destination.held");
    }

    @Test
    void whatIsOlderThanTheTimeDoesNotCount() {
        unknown(nextId(), MINUTE, LONG);
        unknown(nextId(), MINUTE, LONG);
        // Each one is the only one when it is counted against a time of a millisecond, once that has passed.
        await().until(() -> !unknown(nextId(), SHORT, LONG) && store().holds().list(TENANT).getFirst().counted() <= 1);
        assertThat(store().holds().list(TENANT)).singleElement().satisfies(one -> assertThat(one.held()).isFalse());
    }

    @Test
    void oneProbeForEachIntervalHoweverManyAsk() {
        hold(SHORT);
        try (ExecutorService all = Executors.newVirtualThreadPerTaskExecutor()) {
            await().until(() -> {
                List<Callable<Admission>> asks = new ArrayList<>();
                for (int i = 0; i < 16; i++) {
                    UUID receipt = nextId();
                    asks.add(() -> admit(PAY, receipt, LONG));
                }
                int probes = 0;
                for (Future<Admission> answer : all.invokeAll(asks)) {
                    probes += answer.get() instanceof Admission.Probe ? 1 : 0;
                }
                assertThat(probes).isLessThanOrEqualTo(1);
                return probes == 1; // none: the first interval was not over yet
            });
        }
        assertThat(admit(PAY, nextId(), LONG)).isInstanceOf(Admission.Held.class);
    }

    @Test
    void theProbesAnswerReleasesAndForgets_anotherReceiptsDoesNot() {
        hold(SHORT);
        UUID probe = nextId();
        await().until(() -> admit(PAY, probe, LONG) instanceof Admission.Probe);
        assertThat(admit(PAY, probe, LONG)).isEqualTo(new Admission.Probe());
        assertThat(admit(PAY, nextId(), LONG)).isInstanceOf(Admission.Held.class);
        assertThat(store().holds().answered(PAY, nextId(), RUN)).isFalse();
        assertThat(store().holds().answered(PAY, probe, RUN)).isTrue();
        assertThat(store().holds().answered(PAY, probe, RUN)).isFalse();
        assertThat(admit(PAY, nextId(), LONG)).isEqualTo(new Admission.Go());
        assertThat(unknown(nextId(), MINUTE, LONG)).as("counting begins anew").isFalse();
        assertThat(events()).containsExactly("destination.held", "destination.released");
    }

    @Test
    void aPersonsHoldLetsNoProbeThroughAndEndsByHand() {
        assertThat(store().holds().set(PAY, false, "ann", "why")).as("it is not held").isFalse();
        assertThat(store().holds().set(PAY, true, "ann", "maintenance")).isTrue();
        assertThat(store().holds().set(PAY, true, "bob", "again")).isFalse();
        assertThat(admit(PAY, nextId(), SHORT)).isEqualTo(new Admission.Held(1));
        assertThat(unknown(nextId(), MINUTE, SHORT)).isFalse();
        Standing held = store().holds().list(TENANT).getFirst();
        assertThat(held).returns(true, Standing::held).returns("ann", Standing::actor).returns("maintenance", Standing::reason).returns(null, Standing::probeAt);
        assertThat(store().holds().set(PAY, false, "bob", "over")).isTrue();
        assertThat(admit(PAY, nextId(), SHORT)).isEqualTo(new Admission.Go());
        assertThat(events()).containsExactly("destination.held", "destination.released");
        assertThat(store().queries().audit(TENANT, PAY.destination(), 10)).extracting(it -> it.row().actor() + " " + it.row().action())
                .containsExactly("bob destination.release", "ann destination.hold");
    }

    @Test
    void aPersonTakesAHoldOverAndEndsOneByPolicy() {
        hold(SHORT);
        assertThat(store().holds().set(PAY, true, "ann", "mine")).isTrue();
        assertThat(admit(PAY, nextId(), SHORT)).isEqualTo(new Admission.Held(1));
        store().holds().set(PAY, false, "ann", "over");
        hold(LONG);
        assertThat(store().holds().set(PAY, false, "ann", "they say it works")).isTrue();
        assertThat(admit(PAY, nextId(), LONG)).isEqualTo(new Admission.Go());
        assertThat(store().holds().list(null)).hasSize(1);
        assertThat(store().holds().list("globex")).isEmpty();
    }

    @Test
    void twoThatCountAtOnceDoNotBothSeeOneTooFew() throws Exception {
        try (ExecutorService all = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Callable<Boolean>> counts = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                counts.add(() -> unknown(nextId(), MINUTE, LONG));
            }
            int tripped = 0;
            for (Future<Boolean> one : all.invokeAll(counts)) {
                tripped += one.get() ? 1 : 0;
            }
            assertThat(tripped).isEqualTo(1);
        }
    }
}

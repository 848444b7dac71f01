package dev.waybill.recorder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.json.Json;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Proof;
import dev.waybill.model.Reply;
import dev.waybill.recorder.FlightFile.Entry;
import dev.waybill.recorder.FlightFile.Kind;
import dev.waybill.recorder.Testimony.Says;
import dev.waybill.test.Processes;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The file of a dead process: what it proves, and that anything else keeps it silent. */
class FlightsTest {
    private static final String STORE = "sqlite:/srv/waybill.db";
    private static final UUID NODE = new UUID(7, 7);
    private static final InstanceKey RUN = new InstanceKey("acme", new UUID(9, 1));
    private static final Outcome PAID = new Outcome.Committed(
            Json.parse("{\"status\":201,\"body\":{\"id\":\"ch_1\",\"amount\":12345678901234567890.10}}"), "ch_1",
            new Reply(201, Map.of("content-type", List.of("application/json")), "{\"id\":\"ch_1\"}".getBytes(StandardCharsets.UTF_8), false));

    @TempDir
    private Path folder;

    private final Random random = new Random(42);

    private Flights flights(long bytes) {
        return Flights.in(folder, STORE, bytes).orElseThrow();
    }

    private Flights flights() {
        return flights(Flights.MIN_BYTES);
    }

    private FlightRecorder recorder() {
        return flights().record(random).orElseThrow();
    }

    private static UUID receipt(int n) {
        return new UUID(1, n);
    }

    private static void intent(Recorder recorder, UUID receipt) {
        recorder.intent(receipt, NODE, RUN, "each[3]/charge");
    }

    /** What remains when the recorder's process ends without another word; an engine that merely closes is the nearest thing to it. */
    private List<Testimony> afterDeath(FlightRecorder recorder) {
        recorder.close();
        return heard(flights());
    }

    private static List<Testimony> heard(Flights flights) {
        List<Testimony> all = new ArrayList<>();
        for (DeadFlight flight : flights.dead()) {
            try (flight) {
                all.addAll(flight.testimonies());
            }
        }
        return all;
    }

    private List<String> files() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString().replaceFirst("^[0-9a-f]{16}", "X")).sorted().toList();
        }
    }

    private Path onlyFile() throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.findFirst().orElseThrow();
        }
    }

    // --- what it says ----------------------------------------------------------------------------------------------------------

    @Test
    void anIntentWithoutAFirstByteWasNotSent() {
        FlightRecorder recorder = recorder();
        recorder.incarnation(NODE);
        intent(recorder, receipt(1));

        assertThat(afterDeath(recorder))
                .containsExactly(new Testimony(receipt(1), NODE, RUN, "each[3]/charge", new Says.NotSent()));
    }

    @Test
    void aFirstByteWithoutAnAnswerIsAGap() {
        FlightRecorder recorder = recorder();
        intent(recorder, receipt(1));
        recorder.firstByte(receipt(1));

        assertThat(afterDeath(recorder)).extracting(Testimony::says).containsExactly(new Says.Gap());
    }

    @Test
    void anAnswerComesBackAsItWas() {
        List<Outcome> outcomes = List.of(
                PAID,
                new Outcome.Committed(Json.parse("null"), null, null),
                new Outcome.OutputLost("cut", new Reply(200, Map.of(), new byte[] {0, -1}, true)),
                new Outcome.OutputUnusable(Problem.of("OUTPUT_TOO_LARGE", "too large"), "ch_2", null),
                new Outcome.NotApplied(
                        Proof.REJECTED, new Problem("HTTP_RETRY_LATER", "later", true, Json.parse("{\"status\":429}")), Duration.ofSeconds(3),
                        new Reply(429, Map.of("retry-after", List.of("3")), new byte[0], false)),
                new Outcome.NotApplied(Proof.NOT_SENT, Problem.retryable("SEND_DEADLINE_PASSED", "late"), null, null),
                new Outcome.Unknown("status_503", "503", new Reply(503, Map.of(), null, false)));
        FlightRecorder recorder = recorder();
        for (int i = 0; i < outcomes.size(); i++) {
            intent(recorder, receipt(i));
            recorder.firstByte(receipt(i));
            recorder.answered(receipt(i), outcomes.get(i));
        }

        assertThat(afterDeath(recorder))
                .extracting(Testimony::says)
                .usingRecursiveComparison()
                .isEqualTo(outcomes.stream().map(Says.Answered::new).toList());
    }

    @Test
    void anAnswerThatIsTooLargeKeepsWhatItMeansAndLosesWhatItSaid() {
        FlightRecorder recorder = recorder();
        intent(recorder, receipt(1));
        recorder.firstByte(receipt(1));
        recorder.answered(
                receipt(1), new Outcome.Committed(Json.NODES.stringNode("x".repeat(5_000)), null, new Reply(200, Map.of(), new byte[5_000], false)));

        Says says = afterDeath(recorder).getFirst().says();
        assertThat(says).isInstanceOfSatisfying(Says.Answered.class, answered -> assertThat(answered.outcome())
                .isInstanceOfSatisfying(Outcome.OutputLost.class, lost -> assertThat(lost.reply().status()).isEqualTo(200)));
    }

    @Test
    void whatWasSeenSettledIsNotSpokenOf() {
        FlightRecorder recorder = recorder();
        for (int i = 0; i < 3; i++) intent(recorder, receipt(i));
        recorder.answered(receipt(0), PAID);
        recorder.settled(receipt(0), true);
        recorder.settled(receipt(1), false); // the store says unknown, the call has not spoken: it may still

        assertThat(afterDeath(recorder)).extracting(Testimony::receipt).containsExactly(receipt(1), receipt(2));
    }

    @Test
    void anIntentThatIsToldAgainBeginsAnew() {
        FlightRecorder recorder = recorder();
        intent(recorder, receipt(1));
        recorder.settled(receipt(1), true);
        intent(recorder, receipt(1));

        assertThat(afterDeath(recorder)).extracting(Testimony::says).containsExactly(new Says.NotSent());
    }

    @Test
    void theDeadIncarnationsAreNamed() {
        FlightRecorder recorder = recorder();
        for (int i = 0; i < 70; i++) recorder.incarnation(receipt(i));
        intent(recorder, receipt(1));
        recorder.close();

        try (DeadFlight flight = flights().dead().getFirst()) {
            assertThat(flight.incarnations()).hasSize(64).first().isEqualTo(receipt(6));
            assertThat(flight.incarnations()).last().isEqualTo(receipt(69));
        }
    }

    // --- the ring --------------------------------------------------------------------------------------------------------------

    @Test
    void whatWasOverwrittenIsNotSpokenOf() {
        FlightRecorder recorder = recorder();
        intent(recorder, receipt(1));
        recorder.firstByte(receipt(1));
        for (int i = 2; i < 2_000; i++) {
            intent(recorder, receipt(i));
            recorder.firstByte(receipt(i));
            recorder.answered(receipt(i), PAID);
            recorder.settled(receipt(i), true);
        }
        intent(recorder, receipt(2_000));

        assertThat(afterDeath(recorder))
                .extracting(Testimony::receipt)
                .doesNotContain(receipt(1))
                .last().isEqualTo(receipt(2_000));
    }

    /** A writer that reserved its place and was killed before it wrote may have had anything in it: what lies there says nothing. */
    @Test
    void whatWasReservedOverSaysNothingEvenWhenItIsStillThere() throws IOException {
        long ring = 4_096;
        Path file = folder.resolve("ring");
        try (FileChannel channel = channel(file);
                FlightFile writer = FlightFile.create(channel, ring, 5, origin())) {
            writer.append(Kind.INTENT, new byte[100]);
            byte[] first = Files.readAllBytes(file);
            for (int i = 0; i < 40; i++) writer.append(Kind.SETTLED, new byte[100]);
            assertThat(entries(channel)).extracting(Entry::kind).doesNotContain(Kind.INTENT);
            // The bytes of the first record, put back as if the one over it had never been written: the tail knows better.
            channel.write(java.nio.ByteBuffer.wrap(first, FlightFile.HEADER_BYTES, 136), FlightFile.HEADER_BYTES);
            assertThat(entries(channel)).extracting(Entry::kind).doesNotContain(Kind.INTENT);
        }
    }

    private static FileChannel channel(Path file) throws IOException {
        return FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    private static FlightFile.Origin origin() {
        return new FlightFile.Origin(new UUID(1, 2), new byte[32], new byte[32]);
    }

    private static List<Entry> entries(FileChannel channel) throws IOException {
        try (FlightFile reader = FlightFile.read(channel).orElseThrow()) {
            return reader.entries();
        }
    }

    @Test
    void everyLapOfTheRingIsReadInTheOrderItWasWritten() throws IOException {
        try (FileChannel channel = channel(folder.resolve("ring"));
                FlightFile writer = FlightFile.create(channel, 4_096, 5, origin())) {
            for (int i = 0; i < 500; i++) {
                byte[] payload = new byte[1 + random.nextInt(writer.maxPayload())];
                payload[0] = (byte) i;
                writer.append(Kind.ANSWER, payload);
                List<Entry> entries = entries(channel);
                assertThat(entries.getLast().payload()).as("after %d", i).isEqualTo(payload);
                for (int back = 0; back < entries.size(); back++) {
                    assertThat(entries.get(entries.size() - 1 - back).payload()[0]).isEqualTo((byte) (i - back));
                }
                assertThat(entries.size()).isGreaterThanOrEqualTo(Math.min(i + 1, 6));
            }
        }
    }

    @Test
    void manyWritersAtOnceLoseNothing() throws InterruptedException, IOException {
        int writers = 8;
        int each = 400;
        FlightRecorder recorder = flights(4 << 20).record(random).orElseThrow();
        CountDownLatch done = new CountDownLatch(writers);
        try (ExecutorService threads = Executors.newFixedThreadPool(writers)) {
            for (int w = 0; w < writers; w++) {
                int base = w * each;
                threads.execute(() -> {
                    for (int i = base; i < base + each; i++) {
                        intent(recorder, receipt(i));
                        if (i % 2 == 0) recorder.firstByte(receipt(i));
                    }
                    done.countDown();
                });
            }
            done.await();
        }
        recorder.close();
        List<Testimony> heard = heard(flights());
        assertThat(heard).hasSize(writers * each);
        assertThat(heard).allSatisfy(one -> assertThat(one.says() instanceof Says.Gap)
                .isEqualTo(one.receipt().getLeastSignificantBits() % 2 == 0));
    }

    // --- torn ------------------------------------------------------------------------------------------------------------------

    /** The last record cut off behind every one of its bytes: it is whole or it is not there, and the one before it stays. */
    @Test
    void aRecordTornAtAnyByteIsNoRecord() throws IOException {
        Path file = folder.resolve("torn");
        try (FileChannel channel = channel(file);
                FlightFile writer = FlightFile.create(channel, 4_096, 0x5a17, origin())) {
            writer.append(Kind.INTENT, new byte[] {1, 2, 3});
            long begin = FlightFile.HEADER_BYTES + 40;
            byte[] payload = new byte[77];
            random.nextBytes(payload);
            writer.append(Kind.ANSWER, payload);
            byte[] whole = Files.readAllBytes(file);
            int size = FlightFile.RECORD_HEADER_BYTES + payload.length;
            for (int torn = 0; torn < size; torn++) {
                byte[] part = new byte[size - torn];
                channel.write(java.nio.ByteBuffer.wrap(part), begin + torn);
                boolean zeroAnyway = allZero(whole, (int) begin + torn, size - torn);
                assertThat(entries(channel)).as("torn at byte %d", torn).hasSize(zeroAnyway ? 2 : 1)
                        .first().extracting(Entry::kind).isEqualTo(Kind.INTENT);
                channel.write(java.nio.ByteBuffer.wrap(whole, (int) begin, size), begin);
            }
            for (int flipped = 0; flipped < size; flipped++) {
                byte wrong = (byte) (whole[(int) begin + flipped] ^ 1);
                channel.write(java.nio.ByteBuffer.wrap(new byte[] {wrong}), begin + flipped);
                assertThat(entries(channel)).as("flipped byte %d", flipped).hasSize(1);
                channel.write(java.nio.ByteBuffer.wrap(whole, (int) begin, size), begin);
            }
            assertThat(entries(channel)).hasSize(2);
        }
    }

    private static boolean allZero(byte[] bytes, int from, int count) {
        for (int i = from; i < from + count; i++) if (bytes[i] != 0) return false;
        return true;
    }

    @Test
    void aHeaderWithAnyByteWrongIsNotRead() throws IOException {
        Path file = folder.resolve("header");
        try (FileChannel channel = channel(file)) {
            FlightFile.create(channel, 4_096, 1, origin()).close();
            byte[] whole = Files.readAllBytes(file);
            for (int i = 0; i < 116; i++) {
                channel.write(java.nio.ByteBuffer.wrap(new byte[] {(byte) (whole[i] ^ 0x40)}), i);
                assertThat(FlightFile.read(channel)).as("byte %d", i).isEmpty();
                channel.write(java.nio.ByteBuffer.wrap(whole, i, 1), i);
            }
            assertThat(FlightFile.read(channel)).isPresent().get().satisfies(FlightFile::close);
        }
    }

    /** A provider that knows the format still does not know this file's salt. */
    @Test
    void aRecordInsideOfAnAnswerIsNotARecord() throws IOException {
        try (FileChannel forged = channel(folder.resolve("forged"));
                FlightFile forger = FlightFile.create(forged, 4_096, 1, origin());
                FileChannel channel = channel(folder.resolve("real"));
                FlightFile writer = FlightFile.create(channel, 4_096, 2, origin())) {
            forger.append(Kind.ANSWER, new byte[32]);
            forger.append(Kind.SETTLED, new byte[16]);
            byte[] bytes = Files.readAllBytes(folder.resolve("forged"));
            byte[] body = java.util.Arrays.copyOfRange(bytes, FlightFile.HEADER_BYTES, FlightFile.HEADER_BYTES + 256);
            writer.append(Kind.ANSWER, body);
            channel.write(java.nio.ByteBuffer.wrap(new byte[] {1}), FlightFile.HEADER_BYTES + 16); // and the one around it is torn
            assertThat(entries(channel)).isEmpty();
        }
    }

    // --- when it is silent -----------------------------------------------------------------------------------------------------

    @Test
    void aFileOfALivingProcessSaysNothing() {
        try (Processes.Child alive = Processes.java(FlightsTest.Living.class, folder.toString())) {
            alive.awaitLine("noted"::equals, Duration.ofSeconds(30));

            assertThat(flights().dead()).isEmpty();

            alive.kill();
            List<Testimony> heard = heard(flights());
            assertThat(heard).extracting(Testimony::says).hasSize(2).first().isEqualTo(new Says.NotSent());
            assertThat(heard.getLast().says()).usingRecursiveComparison().isEqualTo(new Says.Answered(PAID));
        }
    }

    /** Notes two receipts and never ends. */
    static final class Living {
        public static void main(String[] arguments) throws InterruptedException {
            FlightRecorder recorder =
                    Flights.in(Path.of(arguments[0]), STORE, Flights.MIN_BYTES).orElseThrow().record(new Random()).orElseThrow();
            intent(recorder, receipt(1));
            intent(recorder, receipt(2));
            recorder.firstByte(receipt(2));
            recorder.answered(receipt(2), PAID);
            System.out.println("noted");
            new CountDownLatch(1).await();
        }
    }

    @Test
    void aFileOfThisVeryProcessIsNotEvenOpened() {
        FlightRecorder recorder = recorder();
        intent(recorder, receipt(1));

        assertThat(flights().dead()).isEmpty();
        recorder.firstByte(receipt(1));
        assertThat(afterDeath(recorder)).extracting(Testimony::says).containsExactly(new Says.Gap());
    }

    @Test
    void whatIsBeingReadIsNotReadByAnother() {
        FlightRecorder recorder = recorder();
        intent(recorder, receipt(1));
        recorder.close();

        try (DeadFlight first = flights().dead().getFirst()) {
            assertThat(flights().dead()).isEmpty();
            first.delete();
        }
        assertThat(flights().dead()).isEmpty();
    }

    @Test
    void aFileOfAnotherBootIsSetAsideAndAtMostFourAreKept() throws IOException {
        for (int i = 0; i < 6; i++) {
            FlightRecorder recorder = recorder();
            intent(recorder, receipt(i));
            recorder.close();
            Flights rebooted = Flights.in(folder, Optional.of(new UUID(0, i)), STORE, Flights.MIN_BYTES).orElseThrow();
            assertThat(rebooted.dead()).isEmpty();
        }
        assertThat(files()).containsExactly("X.flight.aside", "X.flight.aside", "X.flight.aside", "X.flight.aside");
    }

    @Test
    void aCopyIsSetAside() throws IOException {
        FlightRecorder recorder = recorder();
        intent(recorder, receipt(1));
        Files.copy(onlyFile(), folder.resolve("0123456789abcdef.flight"));

        assertThat(flights().dead()).isEmpty();
        assertThat(files()).containsExactly("X.flight", "X.flight.aside");
        recorder.close();
    }

    @Test
    void anUnreadableFileIsSetAside() throws IOException {
        Files.write(folder.resolve("0123456789abcdef.flight"), new byte[10_000]);

        assertThat(flights().dead()).isEmpty();
        assertThat(files()).containsExactly("X.flight.aside");
    }

    @Test
    void aFileThatWasNeverFinishedIsDeleted() throws IOException {
        Files.write(folder.resolve("0123456789abcdef.flight.new"), new byte[10]);

        assertThat(flights().dead()).isEmpty();
        assertThat(files()).isEmpty();
    }

    @Test
    void aFileOfAnotherStoreIsLeftAlone() throws IOException {
        FlightRecorder recorder = recorder();
        intent(recorder, receipt(1));
        recorder.close();

        assertThat(Flights.in(folder, "sqlite:/srv/other.db", Flights.MIN_BYTES).orElseThrow().dead()).isEmpty();
        assertThat(files()).containsExactly("X.flight");
        assertThat(heard(flights())).hasSize(1);
    }

    @Test
    void withoutABootIdThereIsNoRecorder() {
        assertThat(Flights.in(folder, Optional.empty(), STORE, Flights.MIN_BYTES)).isEmpty();
    }

    /** What others can put there, others can make it say. */
    @Test
    void inAFolderThatOthersCanWriteThereIsNoRecorder() throws IOException {
        for (String permissions : List.of("rwxrwx---", "rwx----w-")) {
            Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString(permissions));
            assertThat(Flights.in(folder, STORE, Flights.MIN_BYTES)).as(permissions).isEmpty();
        }
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        assertThat(Flights.in(folder, STORE, Flights.MIN_BYTES)).isPresent();
    }

    // --- its life --------------------------------------------------------------------------------------------------------------

    @Test
    void aRecorderWithNothingOpenTakesItsFileAlong() throws IOException {
        FlightRecorder recorder = recorder();
        intent(recorder, receipt(1));
        recorder.settled(receipt(1), true);
        recorder.close();

        assertThat(files()).isEmpty();
    }

    /** Others may conclude from now on that nothing left: so nothing leaves. */
    @Test
    void afterItsEndNoFirstByteMayLeave() {
        FlightRecorder recorder = recorder();
        intent(recorder, receipt(1));
        recorder.close();

        assertThatThrownBy(() -> recorder.firstByte(receipt(1))).isInstanceOf(IllegalStateException.class);
        intent(recorder, receipt(2));
        recorder.answered(receipt(1), PAID);
        recorder.settled(receipt(1), true);
        assertThat(heard(flights())).extracting(Testimony::says).containsExactly(new Says.NotSent());
    }

    @Test
    void nobodyElseCanReadIt() throws IOException {
        Path own = folder.resolve("own");
        FlightRecorder recorder = Flights.in(own, STORE, Flights.MIN_BYTES).orElseThrow().record(random).orElseThrow();
        try (Stream<Path> files = Files.list(own)) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(files.findFirst().orElseThrow()))).isEqualTo("rw-------");
        }
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(own))).isEqualTo("rwx------");
        recorder.close();
    }

    @Test
    void anAddressThatIsTooLongIsNotRecordedAndNotSpokenOf() {
        FlightRecorder recorder = recorder();
        recorder.intent(receipt(1), NODE, RUN, "x".repeat(5_000));
        recorder.firstByte(receipt(1));
        recorder.answered(receipt(1), PAID);
        @Nullable UUID none = afterDeath(recorder).stream().map(Testimony::receipt).findAny().orElse(null);
        assertThat(none).isNull();
    }
}

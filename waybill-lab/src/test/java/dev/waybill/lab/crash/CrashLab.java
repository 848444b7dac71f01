package dev.waybill.lab.crash;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.test.Delivery;
import dev.waybill.test.FakeProvider;
import dev.waybill.test.LedgerEntry;
import dev.waybill.test.TestPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** A store, a real provider outside every engine, and engines in processes of their own. */
final class CrashLab implements AutoCloseable {
    /** Longer than any test: nothing that happens within one can be owed to a lease that ran out. */
    static final List<String> LONG_LEASE = List.of("--lease-ms", "120000", "--heartbeat-ms", "1000");

    static final List<String> SHORT_LEASE = List.of("--lease-ms", "3000", "--heartbeat-ms", "500");

    enum Kind {
        SQLITE,
        POSTGRES
    }

    final FakeProvider provider = FakeProvider.builder().honouringKeys().start();
    private final Path directory;
    private final TestPostgres.@Nullable Database database;
    private final boolean ownDatabase;
    private final String storeUrl;
    private final List<EngineProcess> engines = new ArrayList<>();

    private CrashLab(TestPostgres.@Nullable Database database, boolean ownDatabase) {
        try {
            this.directory = Files.createTempDirectory("waybill-crash");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        this.database = database;
        this.ownDatabase = ownDatabase;
        this.storeUrl = database == null ? "sqlite:" + directory.resolve("waybill.db") : database.waybillUrl();
    }

    static CrashLab on(Kind kind) {
        return switch (kind) {
            case SQLITE -> new CrashLab(null, false);
            case POSTGRES -> new CrashLab(TestPostgres.database(), true);
        };
    }

    /** On a database of a server that the test kills or configures itself. */
    static CrashLab on(TestPostgres.Database database) {
        return new CrashLab(database, false);
    }

    TestPostgres.Database database() {
        if (database == null) {
            throw new IllegalStateException("this lab runs on SQLite");
        }
        return database;
    }

    /** As the superuser: what an administrator sees and does. */
    Connection superuser() throws SQLException {
        return database().superuser().connect();
    }

    /** An engine on this lab's store, as if on machine {@code node}: the same name again is a restart there. */
    EngineProcess engine(String node, List<String> arguments) {
        return launch(storeUrl, node, arguments).ready();
    }

    /** As {@link #engine}, through a proxy, or one that may refuse to open. */
    EngineProcess launch(String url, String node, List<String> more) {
        List<String> arguments = new ArrayList<>(List.of(
                "--store", url,
                "--node-directory", directory.resolve(node).toString(),
                "--allow", "127.0.0.1:" + provider.port(),
                "--allow", "localhost:" + provider.port()));
        arguments.addAll(more);
        EngineProcess engine = EngineProcess.launch(arguments);
        engines.add(engine);
        return engine;
    }

    String storeUrl() {
        return storeUrl;
    }

    static JsonNode json(String text) {
        return Json.parseDefinition(text.replace('\'', '"'));
    }

    /** A POST step with a frozen order in its body; {@code members} are further members of the body, {@code more} of the step. */
    String post(String id, String path, String members, String more) {
        return postTo("127.0.0.1", id, path, members, more);
    }

    /** A host that is a name needs a look-up, so that the intent cannot ride with the settle before it. */
    String postTo(String host, String id, String path, String members, String more) {
        return "{'type':'step','id':'" + id + "','handler':'http_request','params':{'method':'POST','url':'http://" + host + ":"
                + provider.port() + path + "','body':{'order':'{{ data.order }}'" + members + "}},"
                + "'retry':{'max_attempts':3,'initial_backoff':10},'timeout':60000" + more + "}";
    }

    /** Charge, then ship with the charge's id: the sequence of most tests. */
    String chargeThenShip(String more) {
        return "[" + post("charge", "/charges", ",'amount':5", more) + ","
                + post("ship", "/shipments", ",'charge':'{{ outputs.charge.body.id | outputs.charge.provider_receipt_id }}'", more) + "]";
    }

    static boolean isOf(Delivery delivery, String path, String order) {
        return delivery.path().equals(path)
                && delivery.json() != null
                && delivery.json().path("order").asString("").equals(order);
    }

    /** {@code seen/applied} of one order at one path, from the provider's own record. */
    String counts(String path, String order) {
        return provider.seen(d -> isOf(d, path, order)) + "/" + provider.applied(d -> isOf(d, path, order));
    }

    /** What the provider booked for one order at one path. */
    JsonNode booked(String path, String order) {
        return provider.ledger().stream()
                .filter(entry -> entry.kind() == LedgerEntry.Kind.APPLY && entry.path().equals(path))
                .map(LedgerEntry::answer)
                .filter(answer -> answer != null && answer.path("order").asString("").equals(order))
                .findFirst()
                .orElseThrow(() -> new AssertionError("nothing booked at " + path + " for " + order));
    }

    /** Each receipt was sent at most once: the promise, read from the provider's ledger file. */
    void assertEachReceiptSentAtMostOnce() {
        Map<String, Long> sends = provider.ledger().stream()
                .filter(entry -> entry.kind() == LedgerEntry.Kind.DELIVERY && entry.effectId() != null)
                .collect(Collectors.groupingBy(LedgerEntry::effectId, Collectors.counting()));
        assertThat(sends.entrySet().stream().filter(entry -> entry.getValue() > 1).toList()).as("receipts sent more than once").isEmpty();
    }

    /** {@code charge#0 unknown 1/1, ship#0 committed 1/1, waiting effect_unknown at ship}: a run with the provider's counts. */
    String story(EngineProcess engine, UUID run, String order) {
        StringBuilder story = new StringBuilder();
        for (JsonNode effect : engine.effects(run)) {
            String path = effect.path("path").asString().startsWith("charge") ? "/charges" : "/shipments";
            story.append(EngineProcess.state(effect)).append(' ').append(counts(path, order)).append(", ");
        }
        return story + ending(engine.run(run));
    }

    static String ending(JsonNode run) {
        String state = run.path("state").asString();
        return switch (state) {
            case "waiting", "paused" -> state + " " + run.path("reasons").path(0).path("reason").asString() + " at "
                    + run.path("reasons").path(0).path("path").asString("-");
            case "failed" -> state + " " + run.path("error").path("code").asString();
            default -> state;
        };
    }

    @Override
    public void close() {
        engines.forEach(EngineProcess::close);
        provider.close();
        if (database != null && ownDatabase) {
            database.drop();
        }
        try (var files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

package dev.waybill.lab.torture;

import dev.waybill.engine.CrashPoints.Point;
import dev.waybill.json.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A negative control: the protocol of seed 000 as its text has it, in a plain engine of its own. Planned, prepared, dispatched, the call,
 * committed, the output row: each its own transaction. The attempt comes from the last output row: {@code __in_progress__} keeps it, an
 * error or a timeout leaves {@code __retry__} and the next one counts up, so its receipt is another one. A run that stands still is
 * recovered without a fence. It speaks {@link dev.waybill.lab.crash.LabEngine}'s line protocol, so that the same nemesis strikes it.
 */
public final class SeedEngine {
    private static final int WORKERS = 12;
    private static final int TIMEOUT_MILLIS = 2_000;
    private static final int MAX_ATTEMPTS = 4;
    /** As long as the other engine's lease. */
    private static final String STALE = "interval '3 seconds'";

    private final String url;
    private final String user;
    private final String password;
    private final PrintStream out = System.out;
    private volatile @Nullable Point stop;
    private volatile CountDownLatch open = new CountDownLatch(1);
    private volatile boolean draining;

    private SeedEngine(String storeUrl) {
        URI uri = URI.create(storeUrl);
        String[] login = uri.getUserInfo().split(":", 2);
        this.url = "jdbc:postgresql://" + uri.getHost() + ":" + uri.getPort() + uri.getPath() + "?connectTimeout=5&socketTimeout=30";
        this.user = login[0];
        this.password = login[1];
    }

    /** {@code --store URL}; the other arguments of a node mean nothing here. */
    public static void main(String[] arguments) throws IOException {
        SeedEngine engine = new SeedEngine(arguments[List.of(arguments).indexOf("--store") + 1]);
        try (Connection connection = engine.connect();
                var statement = connection.createStatement()) {
            statement.execute(
                    """
                    CREATE TABLE IF NOT EXISTS seed_programs (name text PRIMARY KEY, steps text NOT NULL);
                    CREATE TABLE IF NOT EXISTS seed_runs (
                      id uuid PRIMARY KEY, key text UNIQUE NOT NULL, program text NOT NULL, state text NOT NULL DEFAULT 'scheduled',
                      created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now());
                    CREATE TABLE IF NOT EXISTS seed_receipts (
                      id uuid PRIMARY KEY, run uuid NOT NULL, step text NOT NULL, attempt int NOT NULL, state text NOT NULL,
                      at timestamptz NOT NULL DEFAULT now(), moved_at timestamptz NOT NULL DEFAULT now());
                    CREATE TABLE IF NOT EXISTS seed_outputs (
                      n bigserial PRIMARY KEY, run uuid NOT NULL, step text NOT NULL, attempt int NOT NULL, kind text NOT NULL);
                    CREATE INDEX IF NOT EXISTS seed_outputs_step ON seed_outputs (run, step, n)""");
        } catch (SQLException e) {
            engine.say("REFUSED " + e.getMessage());
            Runtime.getRuntime().halt(3);
        }
        for (int i = 0; i < WORKERS; i++) {
            Thread.ofPlatform().daemon().start(engine::work);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            engine.draining = true;
            LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(1));
            Runtime.getRuntime().halt(0);
        }));
        engine.say("READY seed");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = Json.parseDefinition(line);
            Thread.ofVirtual().start(() -> engine.answer(request));
        }
        Runtime.getRuntime().halt(2);
    }

    private void say(String line) {
        synchronized (out) {
            out.println(line);
            out.flush();
        }
    }

    private Connection connect() throws SQLException {
        return DriverManager.getConnection(url, user, password);
    }

    // --- what it is asked ------------------------------------------------------------------------------------------------------

    private void answer(JsonNode request) {
        ObjectNode answer = Json.NODES.objectNode().put("id", request.path("id").asInt());
        try {
            switch (request.path("do").asString()) {
                case "publish" -> {
                    List<String> steps = new ArrayList<>();
                    collect(request.path("document"), steps);
                    try (Connection connection = connect()) {
                        update(connection, "INSERT INTO seed_programs VALUES (?, ?)", request.path("document").path("name").asString(), String.join("\n", steps));
                    }
                    answer.put("ok", "");
                }
                case "start" -> answer.put("ok", start(request.path("key").asString(), request.path("name").asString()));
                case "queue" -> answer.putArray("ok");
                case "run" -> answer.putObject("ok").put("state", "completed");
                case "stop" -> {
                    stop = Point.valueOf(request.path("at").asString());
                    answer.put("ok", "");
                }
                case "open" -> {
                    stop = null;
                    CountDownLatch held = open;
                    open = new CountDownLatch(1);
                    held.countDown();
                    answer.put("ok", "");
                }
                default -> answer.putObject("error").put("code", "NOT_SUPPORTED").put("status", 404);
            }
        } catch (SQLException e) {
            answer.putObject("error").put("code", "STORE").put("message", e.getMessage());
        }
        say("= " + Json.write(answer));
    }

    /** Its steps that send, one after the other: this engine knows no other blocks. */
    private static void collect(JsonNode node, List<String> urls) {
        if (node.path("handler").asString("").equals("http_request")) {
            urls.add(node.path("params").path("url").asString());
        } else {
            node.forEach(child -> collect(child, urls));
        }
    }

    private String start(String key, String program) throws SQLException {
        try (Connection connection = connect()) {
            update(connection, "INSERT INTO seed_runs (id, key, program) VALUES (gen_random_uuid(), ?, ?) ON CONFLICT DO NOTHING", key, program);
            return String.valueOf(text(connection, "SELECT id FROM seed_runs WHERE key = ?", key));
        }
    }

    // --- what it does ----------------------------------------------------------------------------------------------------------

    private void work() {
        while (true) {
            try (Connection connection = connect()) {
                while (!draining) {
                    String run = text(
                            connection,
                            "UPDATE seed_runs SET state = 'running', updated_at = now() WHERE id = (SELECT id FROM seed_runs WHERE state = 'scheduled'"
                                    + " OR (state = 'running' AND updated_at < now() - " + STALE
                                    + ") ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id || ' ' || key || ' ' || program");
                    if (run == null) {
                        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
                    } else {
                        run(connection, run.split(" "));
                    }
                }
                return;
            } catch (SQLException away) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
            }
        }
    }

    private void run(Connection connection, String[] run) throws SQLException {
        String urls = String.valueOf(text(connection, "SELECT steps FROM seed_programs WHERE name = ?", run[2]));
        for (String step : urls.split("\n")) {
            if (!step(connection, run[0], run[1], step)) {
                update(connection, "UPDATE seed_runs SET state = 'failed', updated_at = now() WHERE id = ?::uuid", run[0]);
                return;
            }
        }
        update(connection, "UPDATE seed_runs SET state = 'completed', updated_at = now() WHERE id = ?::uuid", run[0]);
    }

    /** @return false = the run fails: blocked, refused or out of attempts */
    private boolean step(Connection connection, String run, String key, String step) throws SQLException {
        while (!draining) {
            update(connection, "UPDATE seed_runs SET updated_at = now() WHERE id = ?::uuid", run);
            String last = text(connection, "SELECT kind || ' ' || attempt FROM seed_outputs WHERE run = ?::uuid AND step = ? ORDER BY n DESC LIMIT 1", run, step);
            String kind = last == null ? "" : last.split(" ")[0];
            if (kind.equals("output")) {
                return true;
            }
            int attempt = last == null ? 0 : Integer.parseInt(last.split(" ")[1]) + (kind.equals("__retry__") ? 1 : 0);
            if (attempt >= MAX_ATTEMPTS) {
                return false;
            }
            output(connection, run, step, attempt, "__in_progress__");
            String id = UUID.nameUUIDFromBytes((run + step + attempt).getBytes(StandardCharsets.UTF_8)).toString();
            reached(Point.BEFORE_INTENT, step);
            if (!begin(connection, id, run, step, attempt)) {
                return false;
            }
            reached(Point.AFTER_INTENT, step);
            int status = send(step, key, id);
            reached(Point.AFTER_ANSWER, step);
            boolean done = status / 100 == 2;
            reached(Point.BEFORE_SETTLE, step);
            if (!cas(connection, id, "dispatched", done ? "committed" : "unknown")) {
                return false;
            }
            output(connection, run, step, attempt, done ? "output" : "__retry__");
            reached(Point.AFTER_SETTLE, step);
            if (!done && status >= 400 && status < 500 && status != 429) {
                return false;
            }
        }
        throw new SQLException("draining");
    }

    /** EffectGuard::begin of the seed. */
    private static boolean begin(Connection connection, String id, String run, String step, int attempt) throws SQLException {
        String unresolved = text(
                connection,
                "SELECT id FROM seed_receipts WHERE run = ?::uuid AND step = ? AND attempt = " + attempt + " AND state IN ('dispatched', 'unknown')", run,
                step);
        if (unresolved != null) {
            cas(connection, unresolved, "dispatched", "unknown");
            return false;
        }
        update(
                connection,
                "INSERT INTO seed_receipts (id, run, step, attempt, state) VALUES (?::uuid, ?::uuid, ?, " + attempt
                        + ", 'planned') ON CONFLICT (id) DO UPDATE SET id = EXCLUDED.id",
                id, run, step);
        return cas(connection, id, "planned", "prepared") && cas(connection, id, "prepared", "dispatched");
    }

    private static boolean cas(Connection connection, String id, String from, String to) throws SQLException {
        return update(connection, "UPDATE seed_receipts SET state = ?, moved_at = now() WHERE id = ?::uuid AND state = ?", to, id, from) == 1;
    }

    private static void output(Connection connection, String run, String step, int attempt, String kind) throws SQLException {
        update(connection, "INSERT INTO seed_outputs (run, step, attempt, kind) VALUES (?::uuid, ?, " + attempt + ", ?)", run, step, kind);
    }

    /** @return the status, or 0 for a timeout and everything else that is an error to this engine */
    private static int send(String url, String order, String receipt) {
        try {
            HttpURLConnection call = (HttpURLConnection) URI.create(url).toURL().openConnection();
            byte[] body = ("{\"order\":\"" + order + "\"}").getBytes(StandardCharsets.UTF_8);
            call.setRequestMethod("POST");
            call.setDoOutput(true);
            call.setFixedLengthStreamingMode(body.length); // the JDK repeats nothing that it has streamed
            call.setConnectTimeout(TIMEOUT_MILLIS);
            call.setReadTimeout(TIMEOUT_MILLIS);
            call.setRequestProperty("Content-Type", "application/json");
            call.setRequestProperty("Connection", "close");
            call.setRequestProperty("Waybill-Effect-Id", receipt);
            try (OutputStream request = call.getOutputStream()) {
                request.write(body);
            }
            int status = call.getResponseCode();
            if (status / 100 == 2) {
                try (var answer = call.getInputStream()) {
                    answer.readAllBytes();
                }
            }
            return Math.max(0, status);
        } catch (IOException e) {
            return 0;
        }
    }

    private void reached(Point point, String step) {
        if (point == stop) {
            stop = null;
            say("AT " + point + " " + step);
            try {
                open.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static int update(Connection connection, String sql, String... values) throws SQLException {
        try (PreparedStatement statement = bound(connection, sql, values)) {
            return statement.executeUpdate();
        }
    }

    private static @Nullable String text(Connection connection, String sql, String... values) throws SQLException {
        try (PreparedStatement statement = bound(connection, sql, values);
                ResultSet row = statement.executeQuery()) {
            return row.next() ? row.getString(1) : null;
        }
    }

    private static PreparedStatement bound(Connection connection, String sql, String... values) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int i = 0; i < values.length; i++) {
            statement.setString(i + 1, values[i]);
        }
        return statement;
    }
}

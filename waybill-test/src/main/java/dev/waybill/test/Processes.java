package dev.waybill.test;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Child processes that a test can kill, freeze and thaw. Signals go by {@code kill}, so POSIX only. Every child still alive at the end of
 * this JVM is killed.
 */
public final class Processes {
    private static final Set<Child> ALIVE = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> ALIVE.forEach(Child::kill), "waybill-test-kill-children"));
    }

    private Processes() {}

    /** A JVM like this one (same {@code java.home}, same class path) that runs another main class. */
    public static Child java(Class<?> main, String... arguments) {
        return java(main, List.of(), List.of(arguments));
    }

    /** @param jvmOptions for example {@code -Xmx64m} */
    public static Child java(Class<?> main, List<String> jvmOptions, List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"));
        command.addAll(jvmOptions);
        command.addAll(List.of("-cp", classPath(), main.getName()));
        command.addAll(arguments);
        return start(command, Map.of());
    }

    /** Surefire may have put the real class path into a manifest; it keeps the list in a property of its own then. */
    private static String classPath() {
        String surefire = System.getProperty("surefire.test.class.path");
        return surefire != null ? surefire : System.getProperty("java.class.path");
    }

    /** @param environment added to this process's own */
    public static Child start(List<String> command, Map<String, String> environment) {
        var builder = new ProcessBuilder(command);
        builder.environment().putAll(environment);
        try {
            return new Child(builder.start());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start " + command.getFirst(), e);
        }
    }

    /** @param name without SIG: {@code KILL}, {@code STOP}, {@code CONT}, {@code TERM}, {@code INT}, {@code QUIT} */
    public static void signal(long pid, String name) {
        try {
            // The shell's own kill: a slim container has no /bin/kill.
            run(List.of("/bin/sh", "-c", "kill -s \"$0\" \"$1\"", name, Long.toString(pid)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a short command to its end. @throws IOException when it cannot start or ends other than 0; the message has its output */
    static String run(List<String> command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            int exit = process.waitFor();
            if (exit != 0) {
                throw new IOException(command.getFirst() + " ended with " + exit + ": " + output);
            }
            return output;
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while " + command.getFirst() + " ran", e);
        }
    }

    /** One child; its output is read to the end, line by line. Its standard input ends when it is killed or this JVM ends. */
    public static final class Child implements AutoCloseable {
        private final Process process;
        private final Lines out;
        private final Lines err;

        private Child(Process process) {
            this.process = process;
            ALIVE.add(this);
            this.out = new Lines(process.getInputStream(), "out-" + process.pid());
            this.err = new Lines(process.getErrorStream(), "err-" + process.pid());
            process.onExit().thenRun(() -> ALIVE.remove(this));
        }

        public long pid() {
            return process.pid();
        }

        public boolean isAlive() {
            return process.isAlive();
        }

        /** Standard output so far. */
        public List<String> lines() {
            return out.soFar();
        }

        /** Standard error so far. */
        public List<String> errors() {
            return err.soFar();
        }

        /** The first line of standard output that fits, printed already or still to come. */
        public String awaitLine(Predicate<String> fits, Duration timeout) {
            return awaitLine(0, fits, timeout);
        }

        /** @param from index in {@link #lines()} at which to begin */
        public String awaitLine(int from, Predicate<String> fits, Duration timeout) {
            String line = out.await(from, fits, timeout);
            if (line == null) {
                throw new AssertionError("no such line from process " + pid() + " (" + (isAlive() ? "alive" : "ended") + ")\nstdout:\n"
                        + String.join("\n", lines()) + "\nstderr:\n" + String.join("\n", errors()));
            }
            return line;
        }

        /** Writes one line to its standard input. @throws UncheckedIOException when nobody reads there any more */
        public void send(String line) {
            try {
                var input = process.getOutputStream();
                input.write((line + "\n").getBytes(StandardCharsets.UTF_8));
                input.flush();
            } catch (IOException e) {
                throw new UncheckedIOException("process " + pid() + " does not read", e);
            }
        }

        /** Ends its standard input. */
        public void endInput() {
            try {
                process.getOutputStream().close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** SIGKILL; returns when it is gone. */
        public void kill() {
            process.destroyForcibly();
            process.onExit().join();
        }

        /** SIGTERM. */
        public void terminate() {
            signal(pid(), "TERM");
        }

        /** SIGSTOP: it holds everything it holds and does nothing, until {@link #thaw}. */
        public void freeze() {
            signal(pid(), "STOP");
        }

        /** SIGCONT. */
        public void thaw() {
            signal(pid(), "CONT");
        }

        /** Its exit code; 128 + n after signal n. */
        public int waitFor(Duration timeout) {
            try {
                if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
                    throw new AssertionError("process " + pid() + " still runs after " + timeout + "\nstdout:\n"
                            + String.join("\n", lines()) + "\nstderr:\n" + String.join("\n", errors()));
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while waiting for process " + pid(), e);
            }
            return process.exitValue();
        }

        @Override
        public void close() {
            kill();
        }
    }

    /** A stream as it arrives; platform threads, because reading a pipe would hold a virtual thread's carrier. */
    private static final class Lines {
        private final List<String> lines = new ArrayList<>();
        private boolean ended;

        Lines(InputStream stream, String name) {
            Thread.ofPlatform().daemon().name(name).start(() -> read(stream));
        }

        private void read(InputStream stream) {
            try (var reader = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                    add(line);
                }
            } catch (IOException killed) {
                add("[stream ended: " + killed.getMessage() + "]");
            } finally {
                end();
            }
        }

        private synchronized void add(String line) {
            lines.add(line);
            notifyAll();
        }

        private synchronized void end() {
            ended = true;
            notifyAll();
        }

        synchronized List<String> soFar() {
            return List.copyOf(lines);
        }

        synchronized @Nullable String await(int from, Predicate<String> fits, Duration timeout) {
            long deadline = System.nanoTime() + timeout.toNanos();
            for (int i = from; ; i++) {
                while (i >= lines.size()) {
                    long left = deadline - System.nanoTime();
                    if (ended || left <= 0) {
                        return null;
                    }
                    try {
                        TimeUnit.NANOSECONDS.timedWait(this, left);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                        return null;
                    }
                }
                if (fits.test(lines.get(i))) {
                    return lines.get(i);
                }
            }
        }
    }
}

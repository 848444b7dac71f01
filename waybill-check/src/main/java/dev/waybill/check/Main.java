package dev.waybill.check;

import dev.waybill.check.History.Settings;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/**
 * The command line of the checker. Exit status: 0 every property holds, 1 one does not, 2 it could not be asked (usage, unreadable
 * input).
 */
public final class Main {
    private static final String USAGE =
            """
            usage: dev.waybill.check.Main --ledger FILE.. (--dump FILE.. | --store URL) [--client FILE] [--faults FILE]
                     [--unique-content] [--only PROPERTY]
                     [--visible-seconds N] [--calm-seconds N] [--skew-millis N] [-o json]
                   dev.waybill.check.Main dump --store URL --to FILE
            --ledger, --dump, --client, --faults and --only may be repeated; dumps in the order they were taken. URL is sqlite:FILE or
            postgresql://USER[:PASS]@HOST:PORT/DB; its JDBC driver must be on the class path.""";

    private final List<Path> ledgers = new ArrayList<>();
    private final List<Path> dumps = new ArrayList<>();
    private final List<Path> clients = new ArrayList<>();
    private final List<Path> faults = new ArrayList<>();
    private final Set<String> only = new HashSet<>();
    private @Nullable String store;
    private @Nullable Path to;
    private boolean onlyDump;
    private boolean json;
    private Settings settings = Settings.DEFAULT;

    private Main() {}

    /** Runs and exits. */
    public static void main(String[] arguments) {
        System.exit(run(arguments, System.out, System.err));
    }

    /** @return the exit status */
    public static int run(String[] arguments, PrintStream out, PrintStream err) {
        Main main = new Main();
        try {
            main.read(arguments);
            return main.go(out);
        } catch (UsageException e) {
            err.println(e.getMessage());
            err.println(USAGE);
        } catch (IOException | SQLException | JacksonException | IllegalArgumentException | java.time.DateTimeException e) {
            err.println("the history cannot be read: " + e);
        }
        return 2;
    }

    private static final class UsageException extends Exception {
        private static final long serialVersionUID = 1L;

        UsageException(String message) {
            super(message);
        }
    }

    private void read(String[] arguments) throws UsageException {
        for (int i = 0; i < arguments.length; i++) {
            switch (arguments[i]) {
                case "dump" -> onlyDump = true;
                case "--ledger" -> ledgers.add(Path.of(value(arguments, ++i)));
                case "--dump" -> dumps.add(Path.of(value(arguments, ++i)));
                case "--client" -> clients.add(Path.of(value(arguments, ++i)));
                case "--faults" -> faults.add(Path.of(value(arguments, ++i)));
                case "--only" -> only.add(value(arguments, ++i));
                case "--store" -> store = value(arguments, ++i);
                case "--to" -> to = Path.of(value(arguments, ++i));
                case "--unique-content" -> settings = new Settings(settings.visible(), settings.calm(), settings.skew(), true);
                case "--visible-seconds" -> settings = new Settings(
                        Duration.ofSeconds(number(arguments, ++i)), settings.calm(), settings.skew(), settings.uniqueContent());
                case "--calm-seconds" -> settings = new Settings(
                        settings.visible(), Duration.ofSeconds(number(arguments, ++i)), settings.skew(), settings.uniqueContent());
                case "--skew-millis" -> settings = new Settings(
                        settings.visible(), settings.calm(), Duration.ofMillis(number(arguments, ++i)), settings.uniqueContent());
                case "-o" -> {
                    String form = value(arguments, ++i);
                    if (!form.equals("json") && !form.equals("text")) {
                        throw new UsageException("-o is json or text");
                    }
                    json = form.equals("json");
                }
                default -> throw new UsageException("unknown argument " + arguments[i]);
            }
        }
        if (onlyDump ? store == null || to == null : ledgers.isEmpty() || (store == null && dumps.isEmpty())) {
            throw new UsageException(onlyDump ? "dump needs --store and --to" : "a check needs --ledger and --dump or --store");
        }
    }

    private static String value(String[] arguments, int i) throws UsageException {
        if (i >= arguments.length) {
            throw new UsageException(arguments[i - 1] + " needs a value");
        }
        return arguments[i];
    }

    private static long number(String[] arguments, int i) throws UsageException {
        try {
            return Long.parseLong(value(arguments, i));
        } catch (NumberFormatException e) {
            throw new UsageException(arguments[i - 1] + " needs a number");
        }
    }

    private int go(PrintStream out) throws IOException, SQLException {
        if (store != null && to != null && onlyDump) {
            StoreReader.read(store).write(to);
            return 0;
        }
        List<Dump> taken = new ArrayList<>();
        for (Path file : dumps) {
            taken.add(Dump.read(file));
        }
        if (store != null) {
            taken.add(StoreReader.read(store));
        }
        History history = new History(
                Json.as(Rows.Line.class, lines(ledgers)), taken, Json.as(Rows.Call.class, lines(clients)),
                Json.as(Rows.Fault.class, lines(faults)), settings);
        Report report = Report.of(history, only);
        out.print(json ? report.json().toPrettyString() + "\n" : report.text());
        return report.clean() ? 0 : 1;
    }

    private static List<JsonNode> lines(List<Path> files) throws IOException {
        List<JsonNode> lines = new ArrayList<>();
        for (Path file : files) {
            lines.addAll(Json.lines(file));
        }
        return lines;
    }
}

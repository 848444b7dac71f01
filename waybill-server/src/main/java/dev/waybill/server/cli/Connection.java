package dev.waybill.server.cli;

import java.net.URI;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of every command that talks to a server. */
final class Connection {
    /** How results are printed. */
    enum Output {
        table,
        json
    }

    @Option(
            names = "--server",
            paramLabel = "URL",
            defaultValue = "${env:WAYBILL_URL:-http://127.0.0.1:8080}",
            description = "The server (WAYBILL_URL; default http://127.0.0.1:8080).")
    String server = "";

    @Option(names = "--api-key", paramLabel = "KEY", defaultValue = "${env:WAYBILL_API_KEY}", description = "API key (WAYBILL_API_KEY).")
    @Nullable String apiKey;

    @Option(names = "--tenant", paramLabel = "NAME", defaultValue = "${env:WAYBILL_TENANT}", description = "Tenant (WAYBILL_TENANT).")
    @Nullable String tenant;

    @Option(names = {"-o", "--output-format"}, paramLabel = "table|json", defaultValue = "table", description = "How to print.")
    Output output = Output.table;

    boolean json() {
        return output == Output.json;
    }

    URI uri(String path) {
        String base = server.endsWith("/") ? server.substring(0, server.length() - 1) : server;
        try {
            URI uri = URI.create(base + path);
            if (("http".equals(uri.getScheme()) || "https".equals(uri.getScheme())) && uri.getHost() != null) {
                return uri;
            }
        } catch (IllegalArgumentException e) {
            throw new CliFailure(Exit.USAGE, server + " is not a URL: " + e.getMessage(), "--server http://HOST:PORT");
        }
        throw new CliFailure(Exit.USAGE, server + " is not an http or https URL", "--server http://HOST:PORT");
    }
}

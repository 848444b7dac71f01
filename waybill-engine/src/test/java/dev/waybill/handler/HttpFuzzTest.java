package dev.waybill.handler;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.definition.SequenceParser;
import dev.waybill.handler.EffectHandler.Preparation;
import dev.waybill.json.Json;
import dev.waybill.json.JsonOracle;
import dev.waybill.model.Outcome;
import dev.waybill.test.Choices;
import dev.waybill.test.Fuzz;
import dev.waybill.transport.FaultServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.node.ObjectNode;

/** The one-send client against a server that answers anything at all, byte for byte; and what it puts on the wire itself. */
class HttpFuzzTest {
    private static final List<String> TOKENS = List.of(
            "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n", "HTTP/1.0 503 \r\n", "HTTP/2 200\r\n", "ICY 200 OK\r\n",
            "\r\n", "\n", "\r", ":", " ", "\t", "\u0000", "Content-Length: 3\r\n", "Content-Length: 99\r\n", "Content-Length: -1\r\n", "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: gzip, chunked\r\n", "Content-Encoding: gzip\r\n", "Connection: keep-alive\r\n", "Retry-After: 0\r\n", "Location: /again\r\n", "WWW-Authenticate: Basic\r\n", "Set-Cookie: a=b\r\n", "Content-Type: text/plain; charset=utf-7\r\n",
            "5\r\n12345\r\n", "0\r\n\r\n", "ffffffffffffffff\r\n", "-5\r\n", "0;ext=1\r\n", "{\"a\":1}", "{", "12", "\u00e9");
    private static final List<Integer> STATUSES = List.of(
            200, 201, 202, 204, 206, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 404, 407, 408, 409, 410, 412, 418, 421, 422, 423, 424, 425, 426, 429, 451, 499, 500, 501, 502, 503, 504, 505, 507, 511, 520, 599, 600, 999, 199, 101);
    private static final Pattern STATUS_LINE = Pattern.compile("HTTP/1[.][01] ([1-9][0-9][0-9])( .*)?", Pattern.DOTALL);

    /** What the server answers to the next request. */
    private record Reply(byte[] bytes, int pieces, boolean reset) {}

    @Test
    void whateverComesBackTheOutcomeIsTheTablesAndNothingIsSentTwice() throws Exception {
        BlockingQueue<Reply> replies = new LinkedBlockingQueue<>();
        try (FaultServer server = new FaultServer(connection -> {
            connection.read();
            Reply reply = replies.poll(30, TimeUnit.SECONDS);
            int from = 0;
            for (int piece = 1; piece <= reply.pieces(); piece++) {
                int to = reply.bytes().length * piece / reply.pieces();
                connection.write(java.util.Arrays.copyOfRange(reply.bytes(), from, to));
                from = to;
            }
            if (reply.reset()) {
                connection.reset();
            }
        })) {
            HttpCalls calls = HttpCalls.to(server);
            Fuzz.check("http-reply", 600, choices -> {
                byte[] bytes = reply(choices).getBytes(StandardCharsets.ISO_8859_1);
                boolean whole = choices.oneIn(3);
                bytes = whole ? bytes : choices.mutate(bytes, TOKENS);
                boolean reset = choices.oneIn(6);
                calls.earlierUnknown = choices.oneIn(4);
                replies.clear();
                replies.add(new Reply(bytes, choices.between(1, 3), reset));
                int connections = server.connections();
                int requests = server.seen();
                Outcome outcome = calls.call(HttpCalls.post(server.url("/charge")));
                String seen = new String(bytes, StandardCharsets.ISO_8859_1);
                assertThat(server.connections() - connections).as("connections for %s", seen).isEqualTo(1);
                assertThat(server.seen() - requests).as("requests for %s", seen).isEqualTo(1);
                hold(outcome, new Oracle(seen), calls.earlierUnknown, whole, reset);
            });
        }
    }

    private static void hold(Outcome outcome, Oracle reply, boolean earlierUnknown, boolean whole, boolean reset) {
        String what = outcome + " for " + (reply.text.length() > 600 ? reply.text.substring(0, 600) : reply.text);
        // A reset may take away what was already on its way.
        boolean mayBeLess = reset || reply.finalLineAt > 8_000;
        if (outcome instanceof Outcome.Unknown) {
            assertThat(reply.status == 0 || expected(reply.status, earlierUnknown).equals("unknown") || mayBeLess).as(what).isTrue();
        } else if (outcome instanceof Outcome.NotApplied) {
            assertThat(reply.status).as(what).isPositive();
            assertThat(expected(reply.status, earlierUnknown)).as(what).isEqualTo("not_applied");
        } else {
            assertThat(reply.status / 100).as(what).isEqualTo(2);
            if (outcome instanceof Outcome.Committed) {
                assertThat(reply.complete()).as("a whole body: %s", what).isTrue();
            }
            if (whole && !reset && reply.complete()) {
                assertThat(outcome).as(what).isNotInstanceOf(Outcome.OutputLost.class);
            }
        }
    }

    /** The table of semantics.md section 4, once more. */
    private static String expected(int status, boolean earlierUnknown) {
        if (status >= 200 && status < 300) {
            return "committed";
        }
        if (Set.of(404, 409, 410, 412, 422).contains(status)) {
            return earlierUnknown ? "unknown" : "not_applied";
        }
        boolean no = Set.of(307, 308, 501, 505).contains(status) || status / 100 == 4 && !Set.of(408, 423, 424, 499).contains(status);
        return no ? "not_applied" : "unknown";
    }

    private static String reply(Choices choices) {
        StringBuilder reply = new StringBuilder();
        for (int interim = choices.below(3); interim > 1; interim--) {
            reply.append("HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n");
        }
        reply.append("HTTP/1.1 ").append(choices.pick(STATUSES)).append(choices.pick(List.of(" OK", "", " ", " a b c"))).append("\r\n");
        for (int more = choices.below(4); more > 0; more--) {
            reply.append(choices.pick(List.of("Retry-After: 5", "Location: http://127.0.0.1:1/x", "X: y", "Content-Type: application/json", "Set-Cookie: a=b"))).append("\r\n");
        }
        String body = choices.pick(List.of("{\"id\":\"r-1\",\"receipt_id\":7}", "", "plain", "12", "[1,2", "\"text\"", "{\"a\":1,\"a\":2}", "\u00ff\u00fe", "x".repeat(5_000)));
        switch (choices.below(4)) {
            case 0 -> reply.append("Content-Length: ").append(body.length()).append("\r\n\r\n").append(body);
            case 1 -> {
                reply.append("Transfer-Encoding: chunked\r\n\r\n");
                for (int from = 0; from < body.length(); ) {
                    int to = Math.min(body.length(), from + 1 + choices.length(3_000));
                    reply.append(Integer.toHexString(to - from)).append("\r\n").append(body, from, to).append("\r\n");
                    from = to;
                }
                reply.append("0\r\n").append(choices.oneIn(4) ? "Trailer: x\r\n" : "").append("\r\n");
            }
            case 2 -> reply.append("\r\n").append(body);
            default -> reply.append("Content-Length: ").append(body.length() + choices.below(3)).append("\r\n\r\n").append(body);
        }
        return reply.toString();
    }

    /** Reads an answer by RFC 9112, on its own: which final status has a complete line, and is the body all there? */
    private static final class Oracle {
        final String text;
        int status;
        int finalLineAt;
        private int at;

        Oracle(String text) {
            this.text = text;
            while (true) {
                finalLineAt = at;
                String line = line();
                Matcher matcher = STATUS_LINE.matcher(line == null ? "" : line);
                if (!matcher.matches()) {
                    return;
                }
                int code = Integer.parseInt(matcher.group(1));
                if (code >= 200 || code == 101) {
                    status = code;
                    return;
                }
                for (String header = line(); header != null && !header.isEmpty(); header = line()) {
                    // Headers of an interim answer.
                }
            }
        }

        private String line() {
            int end = text.indexOf('\n', at);
            if (end < 0) {
                return null;
            }
            String line = text.substring(at, end);
            at = end + 1;
            return line.endsWith("\r") ? line.substring(0, line.length() - 1) : line;
        }

        boolean complete() {
            if (status == 204) {
                // There is no body, so nothing of one can be missing.
                return true;
            }
            int saved = at;
            try {
                List<String> codings = new ArrayList<>();
                List<String> lengths = new ArrayList<>();
                String header = line();
                for (; header != null && !header.isEmpty(); header = line()) {
                    int colon = header.indexOf(':');
                    String name = colon < 0 ? "" : header.substring(0, colon).strip().toLowerCase(Locale.ROOT);
                    (name.equals("transfer-encoding") ? codings : name.equals("content-length") ? lengths : new ArrayList<String>()).add(header.substring(colon + 1).strip());
                }
                if (header == null) {
                    return false;
                }
                if (!codings.isEmpty()) {
                    return codings.getLast().toLowerCase(Locale.ROOT).endsWith("chunked") && chunks();
                }
                String body = text.substring(at);
                if (lengths.isEmpty()) {
                    String utf8 = new String(body.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
                    return JsonOracle.read(utf8).filter(value -> !(value instanceof java.math.BigDecimal)).isPresent();
                }
                return lengths.stream().distinct().count() == 1 && lengths.getFirst().matches("[0-9]{1,18}") && body.length() >= Long.parseLong(lengths.getFirst());
            } finally {
                at = saved;
            }
        }

        private boolean chunks() {
            while (true) {
                String line = line();
                String size = line == null ? "" : line.replaceFirst(";.*", "").strip();
                if (!size.matches("[0-9a-fA-F]{1,8}")) {
                    return false;
                }
                int bytes = Integer.parseUnsignedInt(size, 16);
                if (bytes == 0) {
                    for (String trailer = line(); trailer != null; trailer = line()) {
                        if (trailer.isEmpty()) {
                            return true;
                        }
                    }
                    return false;
                }
                if (bytes < 0 || text.length() - at < bytes) {
                    return false;
                }
                at += bytes;
                if (line() == null) {
                    return false;
                }
            }
        }
    }

    @Test
    void whatIsAcceptedStandsOnTheWireAsWrittenAndNothingElseDoes() throws Exception {
        BlockingQueue<String> heads = new LinkedBlockingQueue<>();
        Set<String> ours = Set.of("host", "content-length", "connection", "accept-encoding", "user-agent", "content-type", "waybill-effect-id", "idempotency-key");
        try (FaultServer server = new FaultServer(connection -> {
            heads.add(head(connection.socket.getInputStream()));
            connection.write("HTTP/1.1 204 No Content\r\n\r\n");
            connection.untilClientIsGone();
        })) {
            HttpCalls calls = HttpCalls.to(server);
            Fuzz.check("http-request", 1_000, choices -> {
                ObjectNode params = Json.NODES.objectNode().put("url", server.url("/")).put("body", "b");
                if (choices.oneIn(4)) {
                    params.put("method", choices.oneIn(2) ? choices.text(8, false) : choices.pick(List.of("PUT", "patch", "TRACE", "CONNECT", "PO ST", "DELETE\r\nX: y", "x", "\u00dfet")));
                }
                ObjectNode headers = params.putObject("headers");
                for (int left = choices.below(3); left > 0; left--) {
                    headers.put(name(choices), value(choices));
                }
                calls.key = choices.oneIn(5) ? value(choices) : null;
                heads.clear();
                boolean ready = calls.handler.prepare(calls.request(params)) instanceof Preparation.Ready;
                String document = "{\"name\":\"s\",\"blocks\":[{\"type\":\"step\",\"id\":\"a\",\"handler\":\"http_request\",\"params\":" + Json.write(params) + "}]}";
                if (calls.key == null && headers.propertyNames().stream().noneMatch("idempotency-key"::equalsIgnoreCase)) {
                    assertThat(SequenceParser.validate(Json.parseDefinition(document)).valid()).as("published as it runs: %s", document).isEqualTo(ready);
                }
                if (!ready) {
                    return;
                }
                calls.call(Json.write(params));
                String head = heads.poll(10, TimeUnit.SECONDS);
                assertThat(head).doesNotContain("\u0000");
                List<String> lines = List.of(head.split("\r\n", -1));
                assertThat(lines.getFirst()).isEqualTo(params.path("method").asString("POST").toUpperCase(Locale.ROOT) + " / HTTP/1.1");
                List<String> rest = new ArrayList<>(lines.subList(1, lines.size() - 2));
                headers.properties().forEach(header -> {
                    String line = header.getKey() + ": " + latin1(header.getValue().asString().strip());
                    assertThat(rest.remove(line)).as("%s in %s", line, head).isTrue();
                });
                assertThat(rest).allSatisfy(line -> assertThat(ours).contains(line.substring(0, line.indexOf(':')).toLowerCase(Locale.ROOT)));
                if (calls.key != null) {
                    assertThat(lines).filteredOn(line -> line.regionMatches(true, 0, "idempotency-key:", 0, 16)).singleElement()
                            .satisfies(line -> assertThat(line.substring(17)).isEqualTo(latin1(calls.key)));
                }
            });
        }
    }

    private static String name(Choices choices) {
        return switch (choices.below(4)) {
            case 0 -> "X-" + (char) ('A' + choices.below(26));
            case 1 -> choices.pick(List.of("Accept-Encoding", "Host", "content-length", "TE", "Proxy-X", "waybill-x", "Transfer-Encoding", "Idempotency-Key", "Cookie", "User-Agent", "Content-Type", "Date", "a b", "a:", "", "\u00c9", "a\r\nb"));
            default -> choices.text(6, false);
        };
    }

    private static String value(Choices choices) {
        String value = switch (choices.below(4)) {
            case 0 -> "v" + choices.below(10);
            case 1 -> choices.pick(List.of("a\tb", "a\r\nX: y", "a\nb", " lead", "trail ", "", " ", "\u00e9", "\ud83d\ude00", "a\u0000b", "a\u007fb", "a\u0085b", "a:b", "\"q\""));
            default -> choices.text(10, false);
        };
        return value.startsWith("= ") || value.contains("{{") ? "v" : value;
    }

    private static String latin1(String text) {
        return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
    }

    private static String head(InputStream in) throws IOException {
        ByteArrayOutputStream head = new ByteArrayOutputStream();
        while (!head.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
            int b = in.read();
            if (b < 0) {
                throw new IOException("ended within the head");
            }
            head.write(b);
        }
        return head.toString(StandardCharsets.ISO_8859_1);
    }
}

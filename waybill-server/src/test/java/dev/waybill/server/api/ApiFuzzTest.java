package dev.waybill.server.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.test.Choices;
import dev.waybill.test.Fuzz;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Every route under requests that nobody would send: never a 5xx, every refusal a problem with a code, and a refusal leaves nothing. */
class ApiFuzzTest {
    private static final Pattern ANSWER = Pattern.compile("HTTP/1\\.1 (\\d{3})[^\r\n]*\r\n(.*?)\r\n\r\n(.*)", Pattern.DOTALL);
    private static final String ID = "0190b6f0-0000-7000-8000-000000000000";
    private static final List<String> BODIES = List.of(
            "{\"name\":\"f\",\"blocks\":[{\"type\":\"step\",\"id\":\"a\",\"handler\":\"noop\"}]}", "{\"sequence_name\":\"base\",\"context\":{\"data\":{\"order\":1}},\"idempotency_key\":\"k\",\"next_fire_at\":\"2099-01-01T00:00:00Z\"}",
            "{\"signal_type\":\"pause\"}", "{\"state\":\"committed\",\"evidence\":{\"note\":\"n\"},\"provider_receipt_id\":\"p\",\"then\":\"continue\"}", "{\"output\":{\"a\":1},\"evidence\":{\"note\":\"n\"}}", "", "[]", "null", "name: f\nblocks: []\n");
    private static final List<String> TOKENS = List.of(
            "null", "{", "}", "[", "]", "\"", ",", ":", "1e10000", "1e99999", "-0", "\\u0000", "\\ud800", "\"id\":\"x\",", "\"version\":2147483648,", "\"tenant_id\":\"other\",", "\"context\":[],", "\"metadata\":{\"a\":{}},", "\"next_fire_at\":\"9999999999-01-01\",",
            "\"idempotency_key\":\"\",", "\"priority\":\"x\",", "\"dry_run\":true,", "[[[[[[[[[[[[[[[[[[[[", "\u0000", "\u00e9", "\ud83d\ude00", "&a *a", "!!java", "%", "../", ID);
    private static final List<String> HEADERS = List.of(
            "Content-Type: application/json", "Content-Type: application/yaml", "Content-Type: text/plain", "Content-Type: application/json; charset=utf-16", "Content-Type: ;;", "Idempotency-Key: k1", "Idempotency-Key: ", "Idempotency-Key:  a b",
            "x-tenant-id: t1", "x-tenant-id: ../../etc", "x-tenant-id: \u00e9", "x-api-key: nope", "Accept: text/html", "If-None-Match: *", "traceparent: 00-zz", "Accept-Encoding: gzip", "Transfer-Encoding: identity", "Expect: 100-continue", "X-A: \u0000", "Cookie: a=b",
            "Origin: http://evil", "Last-Event-ID: x", "Content-Encoding: gzip", "Range: bytes=0-1");
    private static final List<String> VALUES = List.of(
            "", "0", "-1", "1", "100", "101", "2147483648", "9223372036854775808", "x", ID, ID.substring(0, 8), "0190b6f0", "unknown", "open", "committed", "paused", "null", "a,b", "'", "\"", "%", "_", "\u0000", "\u00e9\ud83d\ude00", "2026-01-01T00:00:00Z", "9999-99-99",
            "1970-01-01T00:00:00.000000000000Z", "..", "bm90IGEgY3Vyc29y", "eyJhIjoxfQ", "base");

    @TempDir
    Path directory;

    @Test
    void noRequestBringsA5xxAndNoRefusalLeavesARow() throws Exception {
        try (ServerLab lab = new ServerLab(directory, Map.of())) {
            lab.sequence("base", "{'type':'step','id':'w','handler':'sleep','params':{'duration':'30d'}}");
            lab.start("base", "{'order':1}");
            List<Endpoint> endpoints = lab.server.api().endpoints().stream()
                    .filter(endpoint -> !endpoint.path().contains("stream") && !endpoint.path().endsWith("/drain") && !endpoint.operationId().equals("ready"))
                    .toList();
            String[] before = {rows(lab)};
            Fuzz.check("api", 500, choices -> {
                byte[] request = request(choices, choices.pick(endpoints));
                String shown = new String(request, StandardCharsets.ISO_8859_1);
                String answer = lab.http().raw(request);
                Matcher matcher = ANSWER.matcher(answer);
                assertThat(matcher.matches()).as("no answer to %s: %s", shown, answer).isTrue();
                int status = Integer.parseInt(matcher.group(1));
                assertThat(status).as("%s answered %s", shown, answer).isLessThan(500);
                if (status >= 400) {
                    assertThat(matcher.group(2).toLowerCase(java.util.Locale.ROOT)).as("%s answered %s", shown, answer).contains("application/problem+json");
                    JsonNode problem = Json.parse(matcher.group(3).getBytes(StandardCharsets.ISO_8859_1));
                    assertThat(problem.path("status").asInt()).isEqualTo(status);
                    assertThat(problem.path("code").asString()).matches("[A-Z][A-Z0-9_]+");
                    assertThat(problem.path("error").asString()).isNotBlank();
                    assertThat(answer).doesNotContain("Exception").doesNotContain("\tat ");
                    if (choices.oneIn(8)) {
                        assertThat(rows(lab)).as("%s answered %s and left something", shown, answer).isEqualTo(before[0]);
                    }
                } else {
                    before[0] = rows(lab);
                }
            });
        }
    }

    /** How much of everything there is. */
    private static String rows(ServerLab lab) {
        StringBuilder rows = new StringBuilder();
        for (String list : List.of("/api/v1/sequences", "/api/v1/instances", "/api/v1/effects")) {
            String cursor = "";
            int count = 0;
            do {
                JsonNode page = lab.http().get(list + "?limit=100" + cursor).json();
                count += page.path("items").size();
                cursor = page.path("has_more").asBoolean(false) ? "&cursor=" + page.path("next_cursor").asString() : "";
            } while (!cursor.isEmpty());
            rows.append(list).append(' ').append(count).append('\n');
        }
        return rows.toString();
    }

    private static byte[] request(Choices choices, Endpoint endpoint) {
        String path = endpoint.path().replaceAll("\\{\\w+}", Matcher.quoteReplacement(encoded(choices, choices.oneIn(2) ? ID : choices.pick(VALUES))));
        StringBuilder query = new StringBuilder();
        for (int left = choices.below(4); left > 0; left--) {
            List<String> names = endpoint.parameters.stream().filter(parameter -> !parameter.header()).map(Endpoint.Parameter::name).toList();
            String name = names.isEmpty() || choices.oneIn(5) ? choices.pick(List.of("cursor", "limit", "x", "", "metadata.a")) : choices.pick(names).replace(".*", ".k");
            String value = choices.oneIn(4) ? choices.text(20, false) : choices.pick(VALUES);
            // A real wait would only cost time.
            query.append(query.isEmpty() ? "?" : "&").append(encoded(choices, name)).append('=').append(name.equals("wait_ms") ? "0" : encoded(choices, value));
        }
        byte[] body = choices.pick(BODIES).getBytes(StandardCharsets.UTF_8);
        body = choices.oneIn(4) ? body : choices.mutate(body, TOKENS);
        StringBuilder head = new StringBuilder(choices.oneIn(12) ? choices.pick(List.of("PUT", "DELETE", "PATCH", "HEADLESS", "OPTIONS")) : endpoint.method());
        head.append(' ').append(path).append(query).append(" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n");
        for (int left = choices.below(4); left > 0; left--) {
            head.append(choices.pick(HEADERS)).append("\r\n");
        }
        if (endpoint.method().equals("POST")) {
            head.append(choices.oneIn(3) ? "" : "Content-Type: application/json\r\n").append("Content-Length: ").append(body.length).append("\r\n");
        }
        byte[] start = head.append("\r\n").toString().getBytes(StandardCharsets.UTF_8);
        byte[] whole = java.util.Arrays.copyOf(start, start.length + (endpoint.method().equals("POST") ? body.length : 0));
        System.arraycopy(body, 0, whole, start.length, whole.length - start.length);
        return whole;
    }

    private static String encoded(Choices choices, String text) {
        return choices.oneIn(12) ? choices.pick(List.of("%", "%zz", "%00", "%c3%28", "%2e%2e%2f", "a;b")) : URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }
}

package dev.waybill.definition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.test.Choices;
import dev.waybill.test.Fuzz;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JsonPointer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Any document is either read or refused with faults that point at something in it; nothing else ever comes out. */
class SequenceFuzzTest {
    static final String EVERYTHING =
            """
            {"name":"s","namespace":"n","version":3,"id":"00000000-0000-4000-8000-000000000001","on_unknown":["wait"],
             "destinations":[{"name":"h","match":{"url":"http://h/v1"},"preset":"stripe","idempotency":{"header":"K","window":"1h","replayed":[402],"min_length":2,
                              "max_length":40,"charset":"uuid","quoted":true},"status":{"502":"unknown"},"settle":"9s","search":"https://d/s?q={{ key }}",
                              "hold":{"unknowns":2,"within":"1m","probe":"5s"},"verify":{"params":{"url":"http://h/q"},"landed":"true","absent":"false"},
                              "on_conflict":"verify","resend":{"max":2},"receipt_id":"= body.id"},
                             {"name":"c","match":{"handler":"charge"}}],
             "input_schema":{"type":"object","required":["order"],"properties":{"order":{"type":"string","pattern":"^[a-z]+$"}}},
             "blocks":[
              {"type":"step","id":"a","handler":"http_request","timeout":"30s","when":"data.x > 1 && !data.y","delay":{"duration":"PT5S"},
               "params":{"method":"POST","url":"http://h/{{ data.x | default('1') | url_encode }}","headers":{"X-A":"= 'a' & data.b","Idempotency-Key":"k-{{ data.id }}"},
                         "body":{"n":[1,2.50,null],"t":"{{ secrets.T }}","u":"credentials://c/d"},"timeout_ms":100},
               "retry":{"max_attempts":3,"initial_backoff":100,"max_backoff":"5m","backoff_multiplier":2.5,"jitter":0.5,"retry_if":"_error.code = 'X'","non_retryable_codes":["Y"]},
               "on_unknown":"fail","client_error_mode":"complete","success_when":"body.ok","output_schema":{"type":"object"}},
              {"type":"step","id":"g","handler":"http_request","params":{"url":"http://h/","read":true,"method":"GET"}},
              {"type":"step","id":"b","handler":"transform","params":{"v":"= $sum(outputs.a.body.items.(p * q))"},
               "effect":{"name":"pay","idempotency":{"key":"= 'charge-' & data.id","header":"Idempotency-Key","window":"24h"},"receipt_id":"= body.id",
                         "labels":{"order":"= data.id"},"status":{"503":"not_applied"},"settle":"60s","repeats":"refused","on_conflict":"rejected"}},
              {"type":"parallel","id":"p","branches":[[{"type":"step","id":"p1","handler":"noop"}],[{"type":"step","id":"p2","handler":"sleep","params":{"duration":5}}]]},
              {"type":"router","id":"r","routes":[{"condition":"data.x == 1 || data.z","blocks":[{"type":"step","id":"r1","handler":"noop"}]}],"default":[]},
              {"type":"try_catch","id":"t","try_block":[{"type":"step","id":"t1","handler":"fail"}],"catch_block":[],"finally_block":[]},
              {"type":"for_each","id":"f","collection":"data.items","item_var":"it","max_iterations":10,"body":[{"type":"step","id":"f1","handler":"log","params":{"m":"{{ it.x.0 | join(', ') | truncate:3 }}"}}]},
              {"type":"loop","id":"l","condition":"data.n < 3","max_iterations":5,"body":[{"type":"step","id":"l1","handler":"noop"}]}]}
            """;

    static final List<String> VALUES = List.of(
            "= ", "= data.", "= data.x & {{ y }}", "= $now()", "= (((((((", "= $f(1)", "{{", "{{ }}", "{{ a | | b }}", "{{ secrets.X | upper }}", "{{ data.x | replace('a','') }}",
            "{{ data.x | round(101) }}", "{{ a.b[0].c }}", "credentials://a/b", "credentials://", "$secret_text", "9".repeat(30), "-5s", "PT-5S", "P999999999999D", "1e3", "PT0.000000001S",
            "999999999999d", "5 m", "\u0000", "\ud83d\ude00", "a/b~c", "", " ", "!", "!!a", "a == b", "/", "/a", "/(a+)+$/", "'", "\"", "`", "/* ", "true", "step", "parallel", "loop", "http_request",
            "Transfer-Encoding", "a: b\r\nc: d", "%", "**", "runtime.attempt", "= $uuid()", "data[", "{{ x.(y) }}", "^(a)", "#$i", "@$a", "http://\u0000/");

    private static final List<JsonNode> NODES = List.of(
            Json.parse("null"), Json.parse("true"), Json.parse("0"), Json.parse("-1"), Json.parse("1.5"), Json.parse("1e3"), Json.parse("5e0"), Json.parse("1e10000"), Json.parse("1e-10000"),
            Json.parse("9007199254740993"), Json.parse("99999999999999999999"), Json.parse("2147483648"), Json.parse("[]"), Json.parse("{}"), Json.parse("[[]]"), Json.parse("[{}]"),
            Json.parse("{\"\":null}"), Json.parse("{\"type\":\"step\",\"id\":\"x\",\"handler\":\"noop\"}"), Json.parse("[{\"type\":\"step\"}]"), Json.parse("{\"$ref\":\"#\"}"),
            Json.parse("{\"$secret_text\":[{\"secret\":\"X\"}]}"), Json.parse("{\"type\":\"array\",\"items\":{\"$ref\":\"#\"},\"pattern\":\"((\"}"));

    private static final Set<String> JSON_CODES =
            Set.of("DUPLICATE_MEMBER", "INVALID_UNICODE", "JSON_TOO_DEEP", "NUMBER_OUT_OF_RANGE", "MALFORMED_JSON");

    @Test
    void anyDocumentIsReadOrRefusedWithFaultsThatPointAtSomething() {
        JsonNode corpus = Json.parse(EVERYTHING);
        assertThat(SequenceParser.validate(corpus).faults()).isEmpty();
        Fuzz.check("sequence-tree", 800, choices -> {
            JsonNode document = corpus.deepCopy();
            for (int changes = 1 + choices.below(4); changes > 0; changes--) {
                change(choices, document, corpus);
            }
            hold(document);
        });
    }

    @Test
    void anyBytesAreReadOrRefused() {
        byte[] corpus = EVERYTHING.getBytes(StandardCharsets.UTF_8);
        Fuzz.check("sequence-bytes", 1_500, choices -> {
            byte[] bytes = choices.mutate(corpus, VALUES);
            JsonNode document;
            try {
                document = Json.parseDefinition(bytes);
            } catch (WaybillException e) {
                assertThat(JSON_CODES).contains(e.code());
                return;
            }
            hold(document);
        });
    }

    /** What must be true of every document that is JSON. */
    private static void hold(JsonNode document) throws Exception {
        String text = Json.write(document);
        Fuzz.within(3_000, 400, text, () -> {
            Validation validation = SequenceParser.validate(document);
            for (List<Fault> list : List.of(validation.faults(), validation.warnings())) {
                for (Fault fault : list) {
                    assertThat(document.at(JsonPointer.compile(fault.pointer())).isMissingNode()).as("%s points at nothing", fault).isFalse();
                    assertThat(fault.code()).matches("[A-Z_0-9]+");
                    assertThat(fault.message()).isNotBlank();
                    assertThat(Json.hasLoneSurrogate(fault.message())).as(fault.message()).isFalse();
                }
            }
            Optional<Sequence> sequence = parsed(document);
            assertThat(sequence.isPresent()).isEqualTo(validation.valid());
            if (sequence.isPresent()) {
                // What the store keeps is what a takeover reads again.
                JsonNode again = Json.parseDefinition(Json.write(sequence.get().document()));
                assertThat(again).isEqualTo(document);
                assertThat(SequenceParser.validate(again)).isEqualTo(validation);
                if (sequence.get().inputSchema() != null) {
                    assertThat(Schemas.violations(sequence.get().inputSchema(), document)).hasSizeLessThanOrEqualTo(Schemas.MAX_VIOLATIONS);
                }
            }
        });
    }

    private static Optional<Sequence> parsed(JsonNode document) {
        try {
            return Optional.of(SequenceParser.parse(document, "acme", () -> new UUID(0, 1)));
        } catch (WaybillException e) {
            assertThat(e.status()).isEqualTo(422);
            if (!document.path("tenant_id").isMissingNode()) {
                return Optional.empty();
            }
            assertThat(e.code()).isEqualTo("INVALID_SEQUENCE");
            return Optional.empty();
        }
    }

    private static void change(Choices choices, JsonNode document, JsonNode corpus) {
        List<JsonNode> containers = containers(document);
        JsonNode at = choices.pick(containers);
        if (at instanceof ObjectNode object) {
            List<String> names = new ArrayList<>(object.propertyNames());
            String name = names.isEmpty() || choices.oneIn(5) ? choices.oneIn(2) ? choices.text(8, false) : choices.pick(MEMBERS) : choices.pick(names);
            if (choices.oneIn(6)) {
                object.remove(name);
            } else {
                object.set(name, value(choices, corpus));
            }
        } else if (at instanceof ArrayNode array) {
            int index = choices.below(array.size() + 1);
            if (index < array.size() && choices.oneIn(4)) {
                array.remove(index);
            } else {
                array.insert(index, value(choices, corpus));
            }
        }
    }

    private static final List<String> MEMBERS = List.of(
            "id", "type", "handler", "params", "tenant_id", "blocks", "headers", "body", "$secret_text", "a/b", "m~n", "", "Accept-Encoding", "idempotency-key", "effect", "verify", "sla", "collection");

    private static JsonNode value(Choices choices, JsonNode corpus) {
        return switch (choices.below(5)) {
            case 0 -> choices.pick(NODES).deepCopy();
            case 1 -> Json.NODES.stringNode(choices.pick(VALUES));
            case 2 -> Json.NODES.stringNode(choices.pick(VALUES) + choices.text(10, false));
            case 3 -> choices.pick(containers(corpus)).deepCopy();
            default -> nested(choices.pick(List.of("try_block", "a", "anyOf")), choices.length(70));
        };
    }

    private static JsonNode nested(String name, int depth) {
        JsonNode node = Json.parse("\"= data.x\"");
        for (int i = 0; i < depth; i++) {
            ObjectNode around = Json.NODES.objectNode().put("type", "try_catch").put("id", "n" + i);
            around.set(name, i % 2 == 0 ? Json.NODES.arrayNode().add(node) : node);
            node = around;
        }
        return node;
    }

    private static List<JsonNode> containers(JsonNode node) {
        List<JsonNode> all = new ArrayList<>();
        collect(node, all);
        return all;
    }

    private static void collect(JsonNode node, List<JsonNode> all) {
        if (node.isContainer()) {
            all.add(node);
            node.forEach(child -> collect(child, all));
        }
    }
}

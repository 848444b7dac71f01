package dev.waybill.definition;

import dev.waybill.definition.Invariant.EffectAtMostOnce;
import dev.waybill.definition.Invariant.NoUnknownEffects;
import dev.waybill.definition.Invariant.OutputPathPresent;
import dev.waybill.definition.Invariant.Rule;
import dev.waybill.definition.Invariant.TerminalStateIn;
import dev.waybill.json.Json;
import dev.waybill.model.EffectKind;
import dev.waybill.model.InstanceState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Reads invariants, of a document or one that is declared for a published version. */
public final class InvariantReader {
    private static final int MAX_NAME = 128;

    private final Faults faults;
    private final ValueReader values;

    InvariantReader(Faults faults) {
        this.faults = faults;
        this.values = new ValueReader(faults);
    }

    /**
     * One invariant that stands alone: {@code name, rule, commit_guard}.
     *
     * @throws dev.waybill.model.WaybillException 422 INVALID_INVARIANT; {@code details} lists every fault
     */
    public static Invariant parse(JsonNode document) {
        Faults faults = new Faults();
        Invariant invariant = new InvariantReader(faults).invariant(document, "");
        Validation validation = faults.result();
        if (invariant == null || !validation.valid()) {
            throw validation.refusal("INVALID_INVARIANT", "the invariant");
        }
        return invariant;
    }

    /** The {@code invariants} of a document; an empty list when there are none. */
    List<Invariant> invariants(Fields fields) {
        JsonNode given = fields.optional("invariants", JsonNode::isArray, "a list");
        List<Invariant> read = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (int i = 0; given != null && i < given.size(); i++) {
            Invariant one = invariant(given.get(i), fields.at("invariants") + "/" + i);
            if (one != null) {
                read.add(one);
                if (!names.add(one.name())) {
                    faults.add("DUPLICATE_NAME", fields.at("invariants") + "/" + i + "/name", "another invariant is named " + one.name());
                }
            }
        }
        return List.copyOf(read);
    }

    private @Nullable Invariant invariant(JsonNode node, String pointer) {
        if (!node.isObject()) {
            faults.add("WRONG_TYPE", pointer, "an invariant is a JSON object");
            return null;
        }
        Fields fields = new Fields(node, pointer, faults);
        String name = fields.require(
                        "name",
                        value -> value.isString() && !value.stringValue().isBlank() && value.stringValue().length() <= MAX_NAME,
                        "a string of 1 to " + MAX_NAME + " characters", Json.NODES.stringNode("?"))
                .stringValue();
        boolean commitGuard = fields.flag("commit_guard", false);
        JsonNode written = fields.require("rule", JsonNode::isObject, "an object with a type", Json.NODES.objectNode());
        Rule rule = written.isEmpty() ? null : rule(new Fields(written, fields.at("rule"), faults));
        if (commitGuard && rule != null && !(rule instanceof EffectAtMostOnce)) {
            fields.fault("INVALID_VALUE", "commit_guard", "only effect_at_most_once can guard commits; the others are judged when the run ends");
        }
        if (!commitGuard && rule instanceof EffectAtMostOnce once && once.key() != null) {
            fields.fault("INVALID_VALUE", "commit_guard", "a business key among all runs needs commit_guard: true; one run cannot judge the others");
        }
        fields.done();
        return rule == null ? null : new Invariant(name, rule, commitGuard);
    }

    private @Nullable Rule rule(Fields rule) {
        String type = rule.require("type", JsonNode::isString, "a string", Json.NODES.stringNode("")).stringValue();
        Rule read = switch (type) {
            case "effect_at_most_once" -> atMostOnce(rule);
            case "no_unknown_effects" -> new NoUnknownEffects();
            case "terminal_state_in" -> terminal(rule);
            case "output_path_present" -> {
                Expression path = values.expression(rule, "path");
                if (path == null && !rule.has("path")) {
                    faults.add("MISSING_FIELD", rule.pointer, "the field path is missing");
                }
                yield path == null ? null : new OutputPathPresent(path);
            }
            case "budget_within_limits" -> {
                rule.fault("UNSUPPORTED", "type", "budget_within_limits is not supported yet");
                yield null;
            }
            default -> {
                rule.fault("INVALID_VALUE", "type", "type is one of effect_at_most_once, no_unknown_effects, terminal_state_in, output_path_present");
                yield null;
            }
        };
        if (read != null) {
            rule.done();
        }
        return read;
    }

    private @Nullable Rule atMostOnce(Fields rule) {
        String wire = rule.require("kind", JsonNode::isString, "a kind of effect", Json.NODES.stringNode("")).stringValue();
        EffectKind kind = Arrays.stream(EffectKind.values()).filter(it -> it.wire().equals(wire)).findFirst().orElse(null);
        if (kind == null && !wire.isEmpty()) {
            rule.fault("INVALID_VALUE", "kind", "kind is one of "
                    + Arrays.stream(EffectKind.values()).map(EffectKind::wire).collect(Collectors.joining(", ")));
        }
        String scope = rule.text("scope");
        boolean tenant = "tenant".equals(scope);
        if (scope != null && !tenant && !scope.equals("execution")) {
            rule.fault("INVALID_VALUE", "scope", "scope is execution or tenant");
        }
        JsonNode written = rule.get("key");
        Value key = written == null ? null : values.key(written, rule.at("key"), Set.of());
        Duration window = rule.duration("window");
        if (tenant && written == null) {
            rule.fault("MISSING_FIELD", "key", "scope tenant needs a business key: = 'charge-' & data.order.id");
        }
        if (!tenant && (written != null || window != null)) {
            rule.fault("INVALID_VALUE", written != null ? "key" : "window", "key and window belong to scope tenant");
        }
        if (window != null && !window.isPositive()) {
            rule.fault("INVALID_VALUE", "window", "the window must be longer than nothing");
        }
        return kind == null ? null : new EffectAtMostOnce(kind, key, window);
    }

    private @Nullable Rule terminal(Fields rule) {
        JsonNode given = rule.require("states", it -> it.isArray() && !it.isEmpty(), "a list of final states", Json.NODES.arrayNode());
        Set<InstanceState> states = EnumSet.noneOf(InstanceState.class);
        for (JsonNode one : given) {
            InstanceState state = Arrays.stream(InstanceState.values())
                    .filter(it -> it.terminal() && it.wire().equals(one.asString("")))
                    .findFirst()
                    .orElse(null);
            if (state == null) {
                rule.fault("INVALID_VALUE", "states", "states are completed, failed, cancelled");
                return null;
            }
            states.add(state);
        }
        return states.isEmpty() ? null : new TerminalStateIn(Set.copyOf(states));
    }
}

package dev.waybill.lab.program;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import tools.jackson.databind.node.ObjectNode;

/** Writes steps, values and conditions. */
final class Steps {
    private final SplittableRandom random;
    private final Options options;
    private final Script script;
    private final Set<String> features;
    private int keys;

    Steps(SplittableRandom random, Options options, Script script, Set<String> features) {
        this.random = random;
        this.options = options;
        this.script = script;
        this.features = features;
    }

    private boolean chance(int oneIn) {
        return random.nextInt(oneIn) == 0;
    }

    private void use(String feature) {
        features.add(feature);
    }

    private <T> T any(java.util.Collection<T> of) {
        return new ArrayList<>(of).get(random.nextInt(of.size()));
    }

    // --- values ----------------------------------------------------------------------------------------------------------------

    /** An integer inside an expression. */
    String term(Names scope) {
        return switch (random.nextInt(5)) {
            case 0 -> String.valueOf(random.nextInt(10));
            case 1 -> "((" + any(scope.numbers) + " * " + (2 + random.nextInt(3)) + " + " + any(scope.numbers) + ") % 11)";
            case 2 -> "(" + verdict(scope) + " ? " + any(scope.numbers) + " : " + random.nextInt(10) + ")";
            default -> any(scope.numbers);
        };
    }

    /** A value that is an integer. */
    String number(Names scope) {
        switch (random.nextInt(4)) {
            case 0 -> {
                if (!scope.maybe.isEmpty()) {
                    use("fallback");
                    return "{{ " + any(scope.maybe) + " | " + (chance(3) ? any(scope.numbers) : String.valueOf(random.nextInt(10))) + " }}";
                }
                return "{{ " + any(scope.numbers) + " }}";
            }
            case 1 -> {
                use("template");
                return "{{ " + any(scope.numbers) + " }}";
            }
            default -> {
                use("expression");
                return "= " + term(scope);
            }
        }
    }

    private String text(Names scope) {
        return switch (random.nextInt(scope.error ? 5 : 4)) {
            case 0 -> "x-{{ " + any(scope.numbers) + " }}/{{ data.s | upper }}";
            case 1 -> "= 'n' & " + any(scope.numbers) + " & data.s";
            case 2 -> "{{ data.missing | data.s | lower }}";
            case 3 -> "plain";
            default -> {
                use("error in catch");
                yield chance(2) ? "{{ error.code }}" : "= error.path & '!'";
            }
        };
    }

    /** A condition; these take the C spellings too. */
    String condition(Names scope) {
        String left = !scope.maybe.isEmpty() && chance(3) ? any(scope.maybe) : any(scope.numbers);
        return switch (random.nextInt(6)) {
            case 0 -> left + " == " + random.nextInt(10) + " || data.flag";
            case 1 -> "!(" + left + " >= 5) && data.m <= 8";
            case 2 -> "= " + verdict(scope);
            default -> verdict(scope);
        };
    }

    /** A condition inside an expression. */
    private String verdict(Names scope) {
        String left = !scope.maybe.isEmpty() && chance(3) ? any(scope.maybe) : any(scope.numbers);
        return switch (random.nextInt(7)) {
            case 0 -> left + " = " + random.nextInt(10);
            case 1 -> left + " != " + any(scope.numbers);
            case 2 -> left + " > " + random.nextInt(6) + " and " + any(scope.numbers) + " < 9";
            case 3 -> "$not(" + left + " < 4)";
            case 4 -> "data.flag or " + left + " = 3";
            default -> left + (chance(2) ? " <= " : " > ") + (2 + random.nextInt(6));
        };
    }

    // --- steps -----------------------------------------------------------------------------------------------------------------

    void step(ObjectNode step, Names scope, UnaryOperator<String> id) {
        if (random.nextInt(20) < 11) {
            effect(step, scope, id.apply("c"));
        } else if (chance(9)) {
            read(step, scope, id.apply("g"));
        } else {
            pure(step, scope, id.apply("s"));
        }
    }

    private static ObjectNode step(ObjectNode step, String id, String handler) {
        return step.put("type", "step").put("id", id).put("handler", handler);
    }

    /** @return whether the step may be skipped */
    private boolean before(ObjectNode step, Names scope) {
        if (options.timers() && chance(15)) {
            if (chance(2)) {
                step.put("delay", 1 + random.nextInt(8));
            } else {
                step.putObject("delay").put("duration", chance(2) ? "5ms" : "= " + any(scope.numbers) + " + 1");
            }
            use("delay");
        }
        if (chance(8)) {
            step.put("when", condition(scope));
            use("when");
            return true;
        }
        return false;
    }

    private void pure(ObjectNode step, Names scope, String id) {
        boolean skippable = before(step, scope);
        Set<String> into = skippable ? scope.maybe : scope.numbers;
        int kind = random.nextInt(scope.risky ? 16 : 26);
        if (kind < 3) {
            failing(step, scope, id);
            return;
        }
        switch (kind % 9) {
            case 0, 1 -> {
                ObjectNode params = step(step, id, "transform").putObject("params").put("v", number(scope)).put("t", text(scope));
                params.putObject("deep").putArray("list").add(number(scope)).add(true);
                use("transform");
                if (chance(5)) {
                    step.putObject("output_schema").put("type", "object").putObject("properties").putObject("v").put("type", "integer");
                    use("output_schema of a pure step");
                }
                into.add("outputs." + id + ".v");
            }
            case 2, 3 -> {
                if (scope.beside) {
                    step(step, id, "noop");
                    use("noop");
                    return;
                }
                boolean known = !scope.writable.isEmpty() && chance(2);
                String key = known ? any(scope.writable) : "k" + ++keys;
                step(step, id, "set_state").putObject("params").put("key", key).put("value", number(scope));
                use("set_state");
                into.add("outputs." + id + ".value");
                into.add("state." + key);
                if (!skippable) {
                    scope.writable.add(key);
                }
            }
            case 4 -> {
                String key = scope.writable.isEmpty() ? "never" : any(scope.writable);
                step(step, id, "get_state").putObject("params").put("key", key).put("default", number(scope));
                use("get_state");
                into.add("outputs." + id + ".value");
            }
            case 5 -> {
                if (scope.beside) {
                    step(step, id, "log").putObject("params").put("message", text(scope)).put("level", "trace");
                    use("log");
                    return;
                }
                // Objects live under names of their own: numbers are read without looking.
                String key = "o" + ++keys;
                step(step, id, "merge_state").putObject("params").put("key", key).putObject("value").put("a", number(scope)).put("b", "b");
                use("merge_state");
                into.add("outputs." + id + ".value.a");
                scope.maybe.add("state." + key + ".a");
            }
            case 6 -> {
                String key = "gone" + ++keys;
                step(step, id, scope.beside ? "noop" : "delete_state").putObject("params").put("key", key);
                use(scope.beside ? "noop" : "delete_state");
            }
            case 7 -> {
                step(step, id, "assert").putObject("params").put("condition", "= 1 < 2").put("message", "arithmetic");
                use("assert");
            }
            default -> {
                if (options.timers()) {
                    step(step, id, "sleep").putObject("params").put("duration", 1 + random.nextInt(8));
                    use("sleep");
                } else {
                    step(step, id, "noop");
                }
            }
        }
    }

    private void failing(ObjectNode step, Names scope, String id) {
        switch (random.nextInt(4)) {
            case 0 -> {
                ObjectNode params = step(step, id, "fail").putObject("params").put("code", chance(2) ? "OUT_OF_STOCK" : "TOO_OLD").put("message", "made to fail");
                if (chance(2)) {
                    params.put("retryable", "= attempt < 2");
                    ObjectNode retry = retry(step, 2 + random.nextInt(2));
                    if (chance(2)) {
                        retry.put("retry_if", "_error.code = 'TOO_OLD'");
                    }
                    use("retry of a pure step");
                }
                use("fail");
            }
            case 1 -> {
                step(step, id, "assert").putObject("params").put("condition", "= " + any(scope.numbers) + " < 5");
                use("assert");
            }
            case 2 -> {
                step(step, id, "transform").putObject("params").put("v", chance(2) ? "{{ nowhere.x }}" : "= nowhere.x + 1");
                use("unknown root");
            }
            default -> {
                step(step, id, "transform").putObject("params").put("v", text(scope));
                step.putObject("output_schema").put("type", "object").putObject("properties").putObject("v").put("type", "integer");
                use("pure output against its schema");
            }
        }
    }

    private ObjectNode retry(ObjectNode step, int attempts) {
        ObjectNode retry = step.putObject("retry").put("max_attempts", attempts).put("initial_backoff", 1 + random.nextInt(4));
        if (chance(4)) {
            retry.put("max_backoff", 5).put("jitter", 0.5).put("backoff_multiplier", 1.5);
        }
        return retry;
    }

    /** The state a loop counts in, set to zero. */
    String counter(ObjectNode step, Names scope, UnaryOperator<String> id) {
        String key = "k" + ++keys;
        step(step, id.apply("s"), "set_state").putObject("params").put("key", key).put("value", 0);
        scope.writable.add(key);
        scope.numbers.add("state." + key);
        return key;
    }

    void count(ObjectNode step, String key, String id) {
        step(step, id, "set_state").putObject("params").put("key", key).put("value", "= state." + key + " + 1");
    }

    /** Writes down what a catch sees. */
    void caught(ObjectNode step, String id) {
        step(step, id, "transform").putObject("params").put("code", "{{ error.code }}").put("at", "= error.path");
        use("error in catch");
    }

    // --- effects ---------------------------------------------------------------------------------------------------------------

    private void read(ObjectNode step, Names scope, String id) {
        before(step, scope);
        step(step, id, options.handler());
        step.putObject("params").put("method", "GET").put("read", true)
                .put("url", options.url() + "/read?run={{ data.run | url_encode }}&at={{ runtime.block_path | url_encode }}");
        step.put("timeout", options.timeoutMillis());
        retry(step, 4);
        script.plan(id, new Script.Plan(
                List.of(Reaction.BUSY, Reaction.LOST), 2, scope.risky ? List.of(Reaction.OK, Reaction.DECLINED) : List.of(Reaction.OK)));
        use("read");
        scope.maybe.add("outputs." + id + ".body.n");
    }

    private void effect(ObjectNode step, Names scope, String id) {
        before(step, scope);
        step(step, id, options.handler());
        ObjectNode params = step.putObject("params").put("method", "POST").put("url", options.url() + "/do");
        ObjectNode body = params.putObject("body").put("run", "{{ data.run }}").put("at", "{{ runtime.block_path }}");
        body.put("v", number(scope)).put("t", text(scope));
        step.put("timeout", options.timeoutMillis());
        ObjectNode effect = step.putObject("effect").put("settle", options.settleMillis());
        List<Reaction> passing = new ArrayList<>();
        List<Reaction> last = new ArrayList<>(List.of(Reaction.OK, Reaction.OK, Reaction.OK, Reaction.OK, Reaction.OK, Reaction.OK));
        int most = random.nextInt(4);
        boolean stops = options.calm() && chance(12);
        if (stops) {
            step.put("on_unknown", "fail");
            use("step on_unknown");
        } else if (chance(8)) {
            step.putArray("on_unknown").add("wait");
        }
        unanswered(passing, last, scope);
        knownNoes(step, effect, scope, passing, last, most);
        judged(step, effect, scope, last);
        identity(effect, scope);
        if (scope.risky && chance(12)) {
            body.put("v", "{{ nowhere.x }}");
            use("unknown root of an effect");
        }
        script.plan(id, new Script.Plan(passing, most, last));
        scope.maybe.add("outputs." + id + ".body.n");
        scope.maybe.add("outputs." + id + ".status");
    }

    private void unanswered(List<Reaction> passing, List<Reaction> last, Names scope) {
        if (!options.unanswered()) {
            return;
        }
        if (chance(6)) {
            passing.add(Reaction.LOST);
        }
        if (chance(4)) {
            last.addAll(List.of(Reaction.LOST_BOOKED, Reaction.ERROR_BOOKED));
        }
        if (options.left() && chance(8)) {
            last.addAll(List.of(Reaction.LOST_LEFT, Reaction.LOST_LEFT_BOOKED));
        }
        if (scope.risky && chance(3)) {
            last.add(Reaction.LOST_WRITTEN_OFF);
        }
    }

    /** Definite noes, and the retries that some of them may have. */
    private void knownNoes(ObjectNode step, ObjectNode effect, Names scope, List<Reaction> passing, List<Reaction> last, int most) {
        boolean complete = chance(5);
        if (complete) {
            step.put(chance(2) ? "client_error_mode" : "clientErrorMode", "complete");
            use("client_error_mode");
        }
        if (complete || scope.risky || chance(10)) {
            last.addAll(List.of(Reaction.DECLINED, Reaction.DECLINED));
        }
        boolean mapped = chance(4);
        if (mapped) {
            effect.putObject("status").put("503", "not_applied");
            use("status map");
        }
        if (!chance(2)) {
            if ((scope.risky || complete) && chance(3)) {
                last.add(Reaction.BUSY); // without a policy the first no is the last
            }
            return;
        }
        boolean usedUp = options.calm() && chance(4);
        ObjectNode retry = retry(step, usedUp ? 1 + random.nextInt(2) : most + 2);
        use("retry");
        if (usedUp && options.unanswered()) {
            passing.add(Reaction.LOST); // what came before a person's decision does not count
        }
        List<Reaction> again = new ArrayList<>(List.of(Reaction.BUSY));
        if (mapped) {
            again.add(Reaction.UNAVAILABLE);
        }
        if (options.refused()) {
            again.add(Reaction.NOT_SENT);
        }
        if (!chance(5)) {
            passing.addAll(again);
            if (scope.risky && chance(4)) {
                last.add(any(again));
                use("retries used up");
            }
            return;
        }
        // A policy that will not have it again: then such a no is the last word, also when it was asked twice.
        if (scope.risky || complete) {
            last.add(Reaction.BUSY);
        }
        switch (random.nextInt(3)) {
            case 0 -> retry.put("retry_if", "_error.code = 'DESTINATION_UNREACHABLE'");
            case 1 -> retry.putArray("non_retryable_codes").add("HTTP_RETRY_LATER");
            default -> retry.putArray("non_retryable_codes").add("429").add("no_503");
        }
        use("retry refused");
    }

    /** Answers that are looked at. */
    private void judged(ObjectNode step, ObjectNode effect, Names scope, List<Reaction> last) {
        boolean judged = chance(6);
        if (judged) {
            step.put("success_when", chance(2) ? "body.ok" : "status = 200 and body.ok = true");
            use("success_when");
            if (scope.risky) {
                last.addAll(List.of(Reaction.REFUSED_IN_BODY, Reaction.REFUSED_IN_BODY));
            }
        }
        if (options.unanswered() && chance(6)) {
            last.addAll(List.of(Reaction.BODY_CUT, Reaction.BODY_CUT));
        }
        if (chance(6)) {
            ObjectNode body = step.putObject("output_schema").put("type", "object").putObject("properties").putObject("body").put("type", "object");
            body.putObject("properties").putObject("n").put("type", "integer");
            use("output_schema of an effect");
            // Under faults such an answer may be lost, and what a person finds instead is not held against the schema.
            if (scope.risky && options.calm()) {
                last.addAll(List.of(Reaction.BAD_OUTPUT, Reaction.BAD_OUTPUT));
            }
        }
        if (chance(3)) {
            effect.put("receipt_id", "= body.receipt_id");
            use("receipt_id");
        }
    }

    private void identity(ObjectNode effect, Names scope) {
        if (chance(2)) {
            ObjectNode contract = effect.putObject("idempotency");
            if (scope.risky && chance(12)) {
                contract.put("key", chance(2) ? "= 'k-' & data.missing" : "k-{{ data.missing }}");
                use("undefined key");
            } else {
                contract.put("key", chance(2)
                        ? "= 'charge-' & data.run & '-' & " + any(scope.numbers)
                        : "charge-{{ data.run }}-{{ " + any(scope.numbers) + " }}");
            }
            if (chance(2)) {
                contract.put("window", "24h");
            }
            use("idempotency key");
        }
        if (chance(3)) {
            effect.put("name", "payment.charge").putObject("labels").put("order", "{{ data.run }}").put("n", number(scope));
            use("labels");
        }
    }
}

package dev.waybill.definition;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.test.Choices;
import dev.waybill.test.Fuzz;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/** Whatever an author writes and whatever the data is: a value or a coded fault, within a bound of time and memory. */
class ExpressionFuzzTest {
    /** Of one evaluation; the limit in the product is 250 ms of wall time, looked at now and then. */
    private static final long CPU_MILLIS = 2_000;

    /** Garbage of one evaluation, not what it holds at a time: some 250 ms of allocating. */
    private static final long MEGABYTES = 2_500;

    private static final Set<String> COMPILE_CODES = Set.of(
            "EXPRESSION_INVALID", "EXPRESSION_TOO_LONG", "EXPRESSION_FORBIDDEN_FUNCTION", "EXPRESSION_UNKNOWN_VARIABLE", "EXPRESSION_INEXACT", "SECRET_IN_EXPRESSION",
            "TEMPLATE_INVALID", "TEMPLATE_FUNCTION");
    private static final Set<String> RUN_CODES = Set.of(
            "EXPRESSION_BOUND", "EXPRESSION_INEXACT", "EXPRESSION_UNDEFINED", "KEY_NOT_SCALAR", "EXPRESSION_FAILED", "EXPRESSION_UNKNOWN_ROOT", "TEMPLATE_FILTER",
            "TEMPLATE_UNKNOWN_ROOT");

    private static final Scope SCOPE = Scopes.of(
            """
            {"data":{"s":"text","e":"","n":7,"neg":-3,"d":1.50,"big":9007199254740993,"huge":123456789012345678901234567890,"t":true,"f":false,"no":null,
                     "l":[1,2,3],"ls":["a","b"],"none":[],"o":{"k":"v","l":[{"p":2,"q":"x"},{"p":5}]},"dbl":1e400,"far":1e9000,"u":"\ud83d\ude00","deep":[[[[1]]]]},
             "payload":{"id":"p-1"},"config":{},"outputs":{"a":{"body":{"id":5}}},"item":[{"a":1},{"a":"2"}]}
            """);

    private static final List<String> CORPUS = List.of(
            "'charge-' & data.o.k & '-' & $string(data.n)", "$sum(data.o.l.(p * 2)) > 3 and data.t", "data.o.l[p > 1].q", "($f := function($x, $n){$n = 0 ? $x : $f($x & $x, $n - 1)}; $f('ab', 4))",
            "$map(data.l, function($v, $i){ {'v': $v, 'i': $i} })", "$replace(data.s, /t(.)/, '$1')", "data.l^(>$)", "data.o.l{q: $sum(p)}", "$reduce(data.l, function($a, $b){$a + $b})",
            "data.l[[0..1]]", "$merge([data.o, {'z': 1}])", "data.**.k", "data.*", "item#$i.(a & $i)", "item@$x.($x.a)", "[1..data.n].($ * 2)", "data.n in [1,2,7] ? 'in' : 'out'", "data.l ~> $count()",
            "$fromMillis(0, '[Y]-[M01]-[D01]')", "$formatNumber(data.n, '#,##0.00')", "$match(data.s, /x*/)", "$split(data.s, /e/)", "$each(data.o, function($v, $k){$k})", "data.l.%.n",
            "data.missing = data.no", "data.big & ''", "!data.f && data.n == 7 || data.s != 'x'", "data.d = 1.5", "$sort(data.ls, function($a, $b){$a > $b})", "$lookup(data, 's')", "data.o.l.p[-1]");

    private static final List<String> TOKENS = List.of(
            "data", "data.s", "data.n", "data.l", "data.o", "data.big", "data.huge", "data.dbl", "data.u", "data.deep", "payload", "item", "nowhere", "runtime.attempt", ".", "..", "*", "**", "%", "$", "$$",
            "[", "]", "(", ")", "{", "}", "'", "\"", "`", ",", ";", ":", ":=", "?", "? :", "&", "+", "-", "/", "<", "<=", "=", "!=", " and ", " or ", " in ", "~>", "^(", "#$i", "@$v", "!", "&&", "||", "==",
            "/a*/", "/(a|b)*/i", "/", "/*", "*/", "1", "0", "-1", "1e308", "1e-7", "9007199254740992", "0.1", "[1..1000]", "[0..9999999]", "'x'", "null", "true", "function($x){$x}", "function($x)<n:n>{$x}", "?",
            "$sum(", "$count(", "$string(", "$number(", "$round(", "$power(", "$sqrt(", "$formatNumber(", "$formatBase(", "$formatInteger(", "$parseInteger(", "$pad(", "$substring(", "$join(", "$split(", "$match(",
            "$replace(", "$contains(", "$map(", "$filter(", "$reduce(", "$sift(", "$each(", "$sort(", "$zip(", "$append(", "$distinct(", "$reverse(", "$spread(", "$merge(", "$keys(", "$lookup(", "$exists(", "$not(",
            "$type(", "$clone(", "$error(", "$assert(", "$toMillis(", "$fromMillis(", "$base64encode(", "$base64decode(", "$encodeUrl(", "$decodeUrl(", "$single(", "$eval(", "$now(", "\\u0000", "\\ud800", "\ud83d\ude00", "\u0000");

    @Test
    void mutatedExpressionsEndWithAValueOrACode() {
        Fuzz.check("expression-mutants", 1_500, choices -> evaluated(choices, new String(choices.mutate(choices.pick(CORPUS).getBytes(StandardCharsets.UTF_8), TOKENS), StandardCharsets.UTF_8)));
    }

    @Test
    void composedExpressionsEndWithAValueOrACode() {
        Fuzz.check("expression-grammar", 250, choices -> evaluated(choices, composed(choices, 4)));
    }

    @Test
    void theEverydayFormAndTheLibraryAgree() {
        Fuzz.check("expression-fast", 2_500, choices -> {
            JsonataExpression expression;
            try {
                expression = Expressions.parse(everyday(choices, 3));
            } catch (InvalidValueException e) {
                return;
            }
            boolean key = choices.oneIn(2);
            assertThat(answer(expression, key, false)).as(expression.source()).isEqualTo(answer(expression, key, true));
        });
    }

    @Test
    void templatesEndWithAValueOrACode() {
        List<String> corpus = List.of(
                "a {{ data.s | upper }} b", "{{ data.n | default('x') | round(2) }}", "{{ data.l | join(', ') }}{{ data.s | split('e') }}", "{{ data.missing | data.o.k | 'lit' }}", "{{ secrets.A }}",
                "{{ data.s | replace('t', 'tt') | base64 | base64_decode | truncate:3 | hash | url_encode }}", "{{ data.deep.0.0 }}", "{{ data.l[0] }}", "credentials://a/b");
        List<String> tokens = List.of(
                "{{", "}}", "|", "'", "\"", "(", ")", ",", ":", ".", "[0]", "[99999999999]", " default(1)", "truncate(99999999999)", "round(100)", "round(-1)", "abs", "join", "split('')", "replace('t','" + "x".repeat(3_000) + "')",
                "secrets.", "credentials://", "data.dbl", "data.huge", "data.u", "data.o", "null", "1e5", "-0", "0.5", "\u0000", "\ud83d\ude00", "nowhere", "a.", "uuid()", ".0");
        Fuzz.check("template", 2_500, choices -> {
            String text = new String(choices.mutate(choices.pick(corpus).getBytes(StandardCharsets.UTF_8), tokens), StandardCharsets.UTF_8);
            Fuzz.within(CPU_MILLIS, MEGABYTES, text, () -> {
                Value value;
                try {
                    value = Values.compile(Json.NODES.stringNode(text));
                } catch (WaybillException e) {
                    assertThat(COMPILE_CODES).contains(e.code());
                    return;
                }
                try {
                    storable(value.resolve(SCOPE));
                } catch (EvaluationException e) {
                    assertThat(RUN_CODES).contains(e.problem().code());
                }
            });
        });
    }

    static List<String> adversaries() {
        String doubled = "($x := [1,2]; " + "$x := [[$x],[$x]]; ".repeat(40);
        return List.of(
                doubled + "$x.**)", doubled + "$count($x.**))", doubled + "$x.*.*.*)", doubled + "$x[0])", doubled + "$string($x))", doubled + "$x = $x)", doubled + "$x & '')", doubled + "$x^($))", doubled + "$x{'a': $})",
                doubled + "$distinct($x))", doubled + "$reverse($x))", doubled + "$sort($x, function($a,$b){$a > $b}))", doubled + "$exists($x))", doubled + "$boolean($x))", doubled + "$not($x))", doubled + "$type($x))",
                doubled + "$x ? 1 : 2)", doubled + "$x and true)", doubled + "$x in $x)", doubled + "$zip($x, $x))", doubled + "$append($x, $x))", doubled + "$spread($x))", doubled + "$clone($x))", doubled + "$each({'a':$x}, function($v){$v}))",
                doubled + "$lookup({'a':$x}, 'a'))", doubled + "{'a':$x}.a)", doubled + "$keys($x))", doubled + "$merge($x))", doubled + "$x.$x.$x)", doubled + "$filter($x, function($v){true}))", doubled + "$single($x, function($v){true}))",
                doubled + "$error($x))", doubled + "$error($string($x)))", doubled + "$assert(false, $x))", doubled + "[$x..$x])", doubled + "-$x)", doubled + "$x#$i)", doubled + "$x@$v.$v)", doubled + "$x[$=1])", doubled + "$x ~> $count)",
                "$round(1.5, 1000000000)", "$round(1.5, -1000000000)", "$round(1e308, 400)", "$round(data.dbl, 5)", "$power(10, 400)", "$power(data.n, 1e9)", "$sqrt(-1)", "$number('1e1000000000')", "$number($pad('', 900000, '9'))",
                "$fromMillis(0, '[Y,1000000000-1000000000]')", "$fromMillis(0, '[Y0,*-1000000000]')", "$fromMillis(1e300)", "$fromMillis(9e15)", "$fromMillis(-9e15, '[Y]')", "$fromMillis(9e15, '[YI]')", "$fromMillis(9e15, '[Yw]')",
                "$toMillis($pad('', 100000, '9'))", "$toMillis('1', '[Y' & $pad('', 100000, '0') & ']')", "$toMillis($pad('', 100000, '1'), '[Y]')", "$formatInteger(9e15, 'I')", "$formatInteger(9e15, 'w')", "$formatInteger(9e15, 'a')",
                "$formatInteger(1, $pad('', 1000000, '0'))", "$parseInteger($pad('', 500000, 'one '), 'w')", "$parseInteger($pad('', 500000, 'M'), 'I')", "$parseInteger($pad('', 500000, 'z'), 'a')",
                "$formatNumber(1, $pad('', 1000000, '#') & '0')", "$formatNumber(1e308, '0.' & $pad('', 300000, '0'))", "$formatNumber(1e300, '#,#0')", "$formatBase(9e15, 36)", "$formatBase(1, 1e9)",
                "$substring($pad('', 1000000, 'x'), -1e9, 1e9)", "$match($pad('', 1000000, 'a'), /(?:)/)", "$match($pad('', 100000, 'a'), /(a|b)*$/)", "$match($pad('', 50000, 'a'), /^(a*)*b/)", "$replace($pad('', 100000, 'a'), /(a|b)+?/, '$1$1')",
                "$split($pad('', 1000000, 'a'), /a/)", "$contains($pad('', 1000000, 'a'), /.*.*.*b/)", "$join($split($pad('', 60000, 'a'), ''), $pad('', 1000, 'b'))", "$lowercase($pad('', 1000000, '\u0130'))", "$base64encode($pad('', 1000000, 'a'))",
                "$base64decode($pad('', 1000000, 'a'))", "$encodeUrlComponent($pad('', 1000000, '\u20ac'))", "$decodeUrlComponent($pad('', 1000000, '%'))", "$sum([1..10000000])", "$max([0..9999999])", "$count([0..9999999])", "[0..9999999][5]",
                "[0..9999999]^(>$)", "[1..3000].[1..3000]", "[1..300].([1..300].([1..300]))", "$sort([1..90000], function($a,$b){true})", "$sort($map([1..20000], function($v){{'a':$v}}))", "[1..90000]^(<$, >$)", "$distinct($map([1..50000], function($v){{'a':$v}}))",
                "$zip([1..90000],[1..90000],[1..90000])", "$reduce([1..90000], function($a,$b){$append($a,$b)})", "$reduce([1..90000], function($a,$b){$a & 'x'})", "$reduce([1..20], function($a,$b){$append($a,$a)}, [1..1000])",
                "$reduce([1..90000], function($a,$b){$merge([$a,{$string($b):1}])}, {})", "data.**.**.**.**", "$$.**", "$$", "data.*.*.*.*", "($f := function($a){$g($a)}; $g := function($a){$f($a)}; $f(1))", "($f := function(){$map([1..100], $f)}; $f())",
                "($f := function($n){$n <= 1 ? 1 : $f($n - 1) + $f($n - 2)}; $f(60))", "$map([1..90000], $string)", "$f := function($x){$x}", "$$.$f", "{'a': function(){1}}", "[function(){1}]", "$sum", "function($x){$x}(1)", "data.s[%]", "%.%.%.%",
                "(" .repeat(2_000) + "1" + ")".repeat(2_000), "[".repeat(4_000) + "]".repeat(4_000), "-".repeat(8_000) + "1", "1" + "+1".repeat(4_000), "'a'" + "&'a'".repeat(2_000), "data" + ".s".repeat(4_000), "data" + "[0]".repeat(2_700),
                "$not(".repeat(1_600) + "1" + ")".repeat(1_600), "1?".repeat(2_000) + "1" + ":1".repeat(2_000), "function($x){".repeat(600) + "1" + "}".repeat(600), "{'a':".repeat(1_600) + "1" + "}".repeat(1_600), "data" + "~>$string".repeat(800),
                "data.l" + "^($)".repeat(2_000), "data" + ".**".repeat(2_000), "data" + ".*".repeat(4_000), "data" + "#$i".repeat(2_000), "data" + "@$v".repeat(2_000), "%" + ".%".repeat(3_000), "!".repeat(8_000) + "data.t", "!(".repeat(4_000) + "data.t" + ")".repeat(4_000),
                "({[".repeat(2_700), "/".repeat(8_000), "/(".repeat(1) + "(".repeat(7_000) + "/", "$match('a', /" + "(".repeat(3_500) + "a" + ")".repeat(3_500) + "/)", "$match('a', /a{2147483647}/)", "$match('a', /" + "a?".repeat(2_000) + "a{2000}/)",
                "\"" + "\\u0041".repeat(1_300) + "\"", "/*" + "*".repeat(8_000), "$filter($formatNumber(data.n,$ '\\ud800#,##0.00')", "'" + "x".repeat(116) + "\ud83d\ude00" + "' & (", "'" + "\\".repeat(8_000), "`".repeat(8_000), "==".repeat(4_000), "&&".repeat(4_000), "!!" + "&&!".repeat(2_500), "a" + ".!".repeat(3_000));
    }

    @ParameterizedTest
    @MethodSource("adversaries")
    void adversariesEndWithinTheBound(String source) throws Exception {
        evaluate(source, false);
        evaluate(source, true);
    }

    static List<String> hostileTemplates() {
        return List.of(
                "{{ a" + ".a".repeat(4_000) + " }}", "{{ data" + ".0".repeat(4_000) + " }}", "{{ data.s" + " | upper".repeat(900) + " }}", "{{".repeat(4_000), "{{ data.s }}".repeat(600), "{{ x | default(" + "(".repeat(8_000) + " }}",
                "{{ data.s" + " | replace('t', 'tttttttttt')".repeat(250) + " }}", "{{ a" + "[0]".repeat(2_600) + " }}", "{{ '" + "\"'".repeat(4_000) + " }}", "{{ a" + "{{a'}}".repeat(1_200), "{{ data.n | round(100) | round(100) }}", "{{ data.dbl | round }}",
                "{{ data.dbl | abs }}", "{{ data.far | round }}", "{{ data.far | abs }}", "= data.far & ''", "{{ data.huge | round(3) | abs }}", "credentials://" + "a".repeat(8_000) + "/b", "{{ a_".repeat(1) + "$-".repeat(4_000) + " }}", "{{ " + "a(".repeat(2_600) + " }}");
    }

    @ParameterizedTest
    @MethodSource("hostileTemplates")
    void hostileTemplatesEndWithinTheBound(String text) throws Exception {
        Fuzz.within(CPU_MILLIS, MEGABYTES, text, () -> {
            try {
                storable(Values.compile(Json.NODES.stringNode(text)).resolve(SCOPE));
            } catch (WaybillException e) {
                assertThat(COMPILE_CODES).contains(e.code());
            } catch (EvaluationException e) {
                assertThat(RUN_CODES).contains(e.problem().code());
            }
        });
    }

    private static void evaluated(Choices choices, String source) throws Exception {
        evaluate(source, choices.oneIn(2));
    }

    private static void evaluate(String source, boolean condition) throws Exception {
        Fuzz.within(CPU_MILLIS, MEGABYTES, source, () -> {
            JsonataExpression expression;
            try {
                expression = condition ? Expressions.parseCondition(source) : Expressions.parse(source);
            } catch (InvalidValueException e) {
                assertThat(COMPILE_CODES).contains(e.code());
                assertThat(Json.hasLoneSurrogate(e.reason())).as(e.reason()).isFalse();
                return;
            }
            try {
                storable(expression.evaluate(SCOPE, !condition));
            } catch (EvaluationException e) {
                assertThat(RUN_CODES).contains(e.problem().code());
                // It is shown and stored.
                assertThat(Json.hasLoneSurrogate(e.problem().message())).as(e.problem().message()).isFalse();
                assertThat(e.problem().message().length()).as("length of the message").isLessThan(16 * 1024);
            }
        });
    }

    /** A result is stored as text and read again after a takeover. */
    private static void storable(JsonNode result) {
        if (!result.isMissingNode()) {
            String text = Json.write(result);
            assertThat(text.length()).isLessThan(8 * Expressions.MAX_OUTPUT);
            assertThat(Json.parse(text)).isEqualTo(result);
        }
    }

    private static String answer(JsonataExpression expression, boolean key, boolean library) {
        try {
            JsonNode result = library ? expression.evaluateByLibrary(SCOPE, key) : expression.evaluate(SCOPE, key);
            return result.isMissingNode() ? "undefined" : Json.write(result);
        } catch (EvaluationException e) {
            return e.problem().code();
        }
    }

    private static final List<String> OPERANDS = List.of(
            "data.s", "data.e", "data.n", "data.neg", "data.d", "data.big", "data.huge", "data.t", "data.f", "data.no", "data.missing", "data.l", "data.none", "data.o", "data.o.k", "data.o.l.p", "data.u", "data.dbl", "nowhere.x", "payload.id",
            "outputs.a.body.id", "'x'", "''", "' '", "1", "-3", "7", "1.5", "true", "false", "null", "2147483648", "'7'");

    private static String everyday(Choices choices, int depth) {
        if (depth == 0 || choices.oneIn(4)) {
            return choices.pick(OPERANDS);
        }
        String operator = choices.pick(List.of(" & ", " = ", " != ", " < ", " <= ", " > ", " >= ", " and ", " or "));
        String inner = everyday(choices, depth - 1) + operator + everyday(choices, depth - 1);
        return choices.oneIn(5) ? "(" + inner + ")" : inner;
    }

    private static String composed(Choices choices, int depth) {
        if (depth == 0) {
            return choices.oneIn(3) ? choices.pick(List.of("$", "$$", "*", "**", "%", "$v", "[1..50]", "[0..9999999]", "1e300", "/a+/")) : choices.pick(OPERANDS);
        }
        String a = composed(choices, depth - 1);
        String b = composed(choices, depth - 1 - choices.below(depth));
        return switch (choices.below(14)) {
            case 0 -> a + choices.pick(List.of(" + ", " - ", " * ", " / ", " % ", " & ", " = ", " < ", " and ", " in ", " .. ")) + b;
            case 1 -> a + "." + b;
            case 2 -> a + "[" + b + "]";
            case 3 -> "[" + a + ", " + b + "]";
            case 4 -> "{'k': " + a + ", $string(" + b + "): 1}";
            case 5 -> "(" + a + ")." + "(" + b + ")";
            case 6 -> "($v := " + a + "; $v := [$v, $v, $v, $v]; " + b + ")";
            case 7 -> choices.pick(List.of("$map", "$filter", "$single", "$each", "$sift", "$reduce", "$sort")) + "(" + a + ", function($v, $w){" + b + "})";
            case 8 -> a + choices.pick(List.of("^(", "^(>", "{'g': ", "#$i.(", "@$v.(")) + b + ")";
            case 9 -> a + " ? " + b + " : " + a;
            case 10 -> "($f := function($x, $n){$n > 12 ? $x : $f(" + choices.pick(List.of("[$x, $x]", "$x & $x", "$append($x, $x)", "{'a': $x, 'b': $x}", "$x.**", "[$x]")) + ", $n + 1)}; $f(" + a + ", 0))";
            case 11 -> choices.pick(TOKENS.stream().filter(token -> token.matches("\\$\\w+\\(")).toList()) + a + ")";
            case 12 -> choices.pick(TOKENS.stream().filter(token -> token.matches("\\$\\w+\\(")).toList()) + a + ", " + b + ")";
            default -> "(" + a + " ~> " + choices.pick(List.of("$string", "$count", "$sum", "$type", "$keys", "$reverse", "$distinct", "$spread", "$merge")) + ")";
        };
    }

    @Test
    void aNumberWithMoreDigitsThanCanBeReadAgainIsRefused() throws Exception {
        Value value = Values.compile(Json.NODES.stringNode("{{ data.far | round }}"));
        assertThat(org.assertj.core.api.Assertions.catchThrowableOfType(EvaluationException.class, () -> value.resolve(SCOPE)).problem().code())
                .isEqualTo("EXPRESSION_BOUND");
    }
}

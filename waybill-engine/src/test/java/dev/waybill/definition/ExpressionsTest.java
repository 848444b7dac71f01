package dev.waybill.definition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

@Timeout(60)
class ExpressionsTest {
    private static final Scope SCOPE = Scopes.of(
            """
            {"payload":{"order":{"id":17}},
             "data":{"big":9007199254740993,"huge":123456789012345678901234567890,"dec":1.50,"zero":0,"no":null,"t":true,"e":"","s":"x",
                     "items":[{"p":2,"q":3},{"p":5,"q":1}],"names":["a","b"],"one":[7],"none":[],"o":{"k":"v"}}}
            """);

    private static JsonNode evaluate(String source) throws EvaluationException {
        return Expressions.compile(source).evaluate(SCOPE);
    }

    private static String failure(String source) {
        return catchThrowableOfType(EvaluationException.class, () -> evaluate(source)).problem().code();
    }

    private static String fault(String source) {
        return catchThrowableOfType(WaybillException.class, () -> Expressions.compile(source)).code();
    }

    @Test
    void theSeedsOwnKeyExpressionWorks() throws Exception {
        assertThat(evaluate("= 'charge-' & payload.order.id")).isEqualTo(Json.parse("\"charge-17\""));
    }

    @ParameterizedTest
    @CsvSource(delimiterString = "==>", quoteCharacter = '§', textBlock = """
        data.big ==> 9007199254740993
        data.huge ==> 123456789012345678901234567890
        'id-' & data.big ==> "id-9007199254740993"
        'id-' & data.huge & $string(data.huge) ==> "id-123456789012345678901234567890123456789012345678901234567890"
        data.dec ==> 1.50
        {'id':data.huge, 'l':[data.big]} ==> {"id":123456789012345678901234567890,"l":[9007199254740993]}
        $sum(data.items.(p * q)) ==> 11
        data.items[p > 3].q ==> 1
        data.items ==> [{"p":2,"q":3},{"p":5,"q":1}]
        data.one ==> [7]
        data.no ==> null
        data.o ==> {"k":"v"}
        data.none ==> []
        $join(data.names, '-') ==> "a-b"
        $pad('7', -3, '0') ==> "007"
        $split('a,b,c', ',', 2) ==> ["a","b"]
        $split('abc', '') ==> ["a","b","c"]
        $replace('a.b.c', '.', '-') ==> "a-b-c"
        $replace('a.b.c', '.', '-', 1) ==> "a-b.c"
        $replace('265USD', /([0-9]+)USD/, '$$$1') ==> "$265"
        $replace('abc', /b/, function($m){$uppercase($m.match)}) ==> "aBc"
        $match('ababbabbcc', /a(b+)/).groups ==> ["b","bb","bb"]
        $contains('abracadabra', /a.*a/) ==> true
        $merge([$clone(data.o), {'big': data.big}]) ==> {"k":"v","big":9007199254740993}
        $not(data.missing) = false ==> false
        data.t and data.zero = 0 ==> true
        $map([1..3], function($v){$v * 2}) ==> [2,4,6]
        2 / 4 ==> 0.5
        """)
    void expressionsKeepTypesAndDigits(String source, String expected) throws Exception {
        assertThat(evaluate(source)).isEqualTo(Json.parse(expected));
    }

    @Test
    void undefinedIsMissingAndNullIsNull() throws Exception {
        assertThat(evaluate("data.nope.x").isMissingNode()).isTrue();
        assertThat(evaluate("data.no").isNull()).isTrue();
        assertThat(evaluate("data.no.x").isMissingNode()).isTrue();
        assertThat(evaluate("[data.no]")).isEqualTo(Json.parse("[null]"));
    }

    @Test
    void anUnknownRootIsTheAuthorsFaultAndNotUndefined() {
        assertThat(failure("paylaod.order.id")).isEqualTo("EXPRESSION_UNKNOWN_ROOT");
        assertThat(failure("$exists(paylaod)")).isEqualTo("EXPRESSION_UNKNOWN_ROOT");
        assertThat(failure("true and paylaod.x.(y)")).isEqualTo("EXPRESSION_UNKNOWN_ROOT");
    }

    @ParameterizedTest
    @ValueSource(strings = {"data.big = data.zero", "data.big > 1", "data.big + 1", "-data.big", "$sum([data.big])", "data.huge != data.big", "data.big in [1]"})
    void anIntegerThatADoubleWouldRoundIsRefusedWhereItWouldBeRounded(String source) {
        assertThat(failure(source)).isEqualTo("EXPRESSION_INEXACT");
    }

    @Test
    void aLiteralBeyond2To53IsRefusedAtPublish() {
        assertThat(fault("'x' & 9007199254740993")).isEqualTo("EXPRESSION_INEXACT");
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "$pad('x', 2000000000)",
        "$pad('x', -2147483648)",
        "($f := function($x){$f($x)}; $f(1))",
        "($f := function($x){1 + $f($x)}; $f(1))",
        "($s := 'xxxxxxxxxxxxxxxx'; $f := function($n){$n = 0 ? $s : ($t := $f($n - 1); $t & $t)}; $f(40))",
        "$join($map([1..1000], function(){$pad('x', 10000)}))",
        "$string($map([1..1000], function(){[1..10000]}))",
        "[1..10000000]",
        "$append([1..9000000], [1..9000000])",
        "$contains($pad('!', -80, 'a'), /^(a|aa|aaa)+\\1?$/)",
        "$match($pad('!', -80, 'a'), /^(a|aa)+\\1$/)",
        "$replace($pad('x', 1000000, 'x'), 'x', 'yyyyyyyyyyyyyyyyyyyyyy')",
        "$replace($pad('x', 1000000, 'x'), /x/, '$0$0$0$0')",
        "$split($pad('x', 1000000, 'x'), '')",
        "($a := [1..2]; $b := [[$a,$a]]; $c := [[$b,$b]]; $f := function($x, $n){$n = 0 ? $x : $f([[$x, $x]], $n - 1)}; $string($f($a, 40)))",
        "($f := function($x, $n){$n = 0 ? $x : $f([[$x, $x]], $n - 1)}; $f([1], 30) = $f([1], 30))",
        "($f := function($x, $n){$n = 0 ? $x : $f([[$x, $x]], $n - 1)}; $f([1], 30))",
        "($s := $pad('x', 1000000); $count($map([1..90000], function($v){$length($uppercase($s & $v))})))",
        "$map([1..90000], function($a){$map([1..90000], function($b){$a * $b})})"
    })
    void noExpressionRunsAway(String source) {
        // The class's time limit is the assertion: each of these would run for minutes or take all memory.
        assertThat(failure(source)).isEqualTo("EXPRESSION_BOUND");
    }

    @Test
    void aBoundHoldsInsideAConjunctionToo() {
        assertThat(failure("true and $pad('x', 2000000000) = 'x'")).isEqualTo("EXPRESSION_BOUND");
    }

    @ParameterizedTest
    @ValueSource(strings = {"$now()", "$millis()", "$random()", "$eval('1')", "$shuffle([1,2])", "data ~> $eval", "$uuid()"})
    void timeAndChanceAreNotAvailable(String source) {
        assertThat(fault(source)).isEqualTo("EXPRESSION_FORBIDDEN_FUNCTION");
    }

    @Test
    void whatCannotWorkIsRefusedAtPublish() {
        assertThat(fault("data.")).isEqualTo("EXPRESSION_INVALID");
        assertThat(fault("")).isEqualTo("EXPRESSION_INVALID");
        assertThat(fault("data.x ===")).isEqualTo("EXPRESSION_INVALID");
        assertThat(fault("$uppercse(data.x)")).isEqualTo("EXPRESSION_UNKNOWN_VARIABLE");
        assertThat(fault("$x + 1")).isEqualTo("EXPRESSION_UNKNOWN_VARIABLE");
        assertThat(fault("data ~> |$|{'x':1}|")).isEqualTo("EXPRESSION_INVALID");
        assertThat(fault("/a+/('aaa')")).isEqualTo("EXPRESSION_INVALID");
        assertThat(fault("'" + "x".repeat(9_000) + "'")).isEqualTo("EXPRESSION_TOO_LONG");
        assertThat(fault("(".repeat(4_000) + "1" + ")".repeat(4_000))).isEqualTo("EXPRESSION_INVALID");
        assertThat(fault("'Bearer ' & secrets.K")).isEqualTo("SECRET_IN_EXPRESSION");
    }

    @Test
    void aFailingExpressionNamesItself() {
        EvaluationException e = catchThrowableOfType(EvaluationException.class, () -> evaluate("data.s + 1"));
        assertThat(e.problem().code()).isEqualTo("EXPRESSION_FAILED");
        assertThat(e.getMessage()).contains("data.s + 1");
        assertThatThrownBy(() -> evaluate("$error('my reason')")).hasMessageContaining("my reason");
        assertThat(failure("function($x){$x}")).isEqualTo("EXPRESSION_FAILED");
    }

    @ParameterizedTest
    @CsvSource(delimiterString = "==>", quoteCharacter = '§', textBlock = """
        data.s == 'x' ==> true
        data.s == "==" || data.t ==> true
        data.t && !data.no ==> true
        !(data.t && data.zero == 0) ==> false
        !$exists(data.s) ==> false
        !data.items[p > 3].q ==> false
        !!data.t ==> true
        !data.missing ==> true
        data.s != 'x' ==> false
        !data.t or data.s = 'x' ==> true
        $contains('a/b', '/') && data.t ==> true
        $contains('a==b', /a==b/) && true ==> true
        (4 / 2) == 2 && 6 / 3 / 2 == 1 ==> true
        /* a && b */ data.t ==> true
        data.`s` == "it's !" ==> false
        $count([1,2]) == 2 && !($count([]) > 0) ==> true
        """)
    void conditionsAcceptTheCSpellings(String source, boolean expected) throws Exception {
        assertThat(Expressions.condition(source).evaluate(SCOPE)).isEqualTo(Json.NODES.booleanNode(expected));
        assertThat(Expressions.condition("= " + source).evaluate(SCOPE)).isEqualTo(Json.NODES.booleanNode(expected));
    }

    @ParameterizedTest
    @ValueSource(strings = {"data.x ==", "data.a && ", "!", "data.x = = 1", "(data.x", "a ! b"})
    void aConditionThatDoesNotParseIsRefused(String source) {
        assertThat(catchThrowableOfType(WaybillException.class, () -> Expressions.condition(source)).status()).isEqualTo(422);
    }

    @Test
    void theEverydayFormsAnswerAsTheLibraryDoes() throws Exception {
        long seed = 7;
        System.out.println("ExpressionsTest seed " + seed);
        Random random = new Random(seed);
        int answered = 0;
        for (int i = 0; i < 4_000; i++) {
            JsonataExpression expression = Expressions.parse(term(random, 3));
            assertThat(expression.isFast()).as(expression.source()).isTrue();
            for (boolean key : new boolean[] {false, true}) {
                String fast = answer(expression, key, true);
                assertThat(fast).as(expression.source()).isEqualTo(answer(expression, key, false));
                answered += fast.startsWith("EXPRESSION") ? 0 : 1;
            }
        }
        assertThat(answered).isGreaterThan(1_000);
    }

    private static String answer(JsonataExpression expression, boolean key, boolean fast) {
        try {
            return (fast ? expression.evaluate(SCOPE, key) : expression.evaluateByLibrary(SCOPE, key)).toString();
        } catch (EvaluationException e) {
            return e.problem().code();
        }
    }

    private static String term(Random random, int depth) {
        if (depth == 0 || random.nextInt(3) == 0) {
            String[] leaves = {
                "data.s", "data.e", "data.no", "data.zero", "data.t", "data.big", "data.dec", "data.nope", "data.o.k", "data.o", "data.items.p",
                "data.one", "'lit'", "''", "5", "true", "null", "payload.order.id", "data.no.x", "data.names"
            };
            return leaves[random.nextInt(leaves.length)];
        }
        String[] operators = {" & ", " & ", " = ", " != ", " < ", " >= ", " and ", " or "};
        return term(random, depth - 1) + operators[random.nextInt(operators.length)] + term(random, depth - 1);
    }

    @Test
    void oneExpressionServesManyVirtualThreadsAtOnce() throws Exception {
        Expression shared = Expressions.compile("($p := 'n' & data.n; $map([1..3], function($v){$p & $v}))[2] & '-' & $string(data.n)");
        try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<String>> answers = new ArrayList<>();
            for (int i = 0; i < 2_000; i++) {
                Scope scope = Scopes.of("{\"data\":{\"n\":" + i + "}}");
                answers.add(executor.submit(() -> shared.evaluate(scope).stringValue()));
            }
            for (int i = 0; i < answers.size(); i++) {
                assertThat(answers.get(i).get()).isEqualTo("n" + i + "3-" + i);
            }
        }
    }

    @Test
    void compilingBetweenEvaluationsLeaksNoBindings() throws Exception {
        Expression binds = Expressions.compile("($x := data.s; $x & '1')");
        for (int i = 0; i < 50; i++) {
            assertThat(binds.evaluate(SCOPE).stringValue()).isEqualTo("x1");
            assertThat(Expressions.compile("$exists($y) ? $y : ($y := " + i + "; $y)").evaluate(SCOPE).intValue()).isEqualTo(i);
        }
    }

    @Test
    void theInputIsNeverChanged() throws Exception {
        JsonNode data = Json.parse("{\"l\":[3,1,2],\"o\":{\"a\":1}}");
        String before = data.toString();
        Expressions.compile("[$sort(data.l), $merge([data.o, {'b':2}]), $append(data.l, 4), $reverse(data.l)]")
                .evaluate(name -> name.equals("data") ? data : null);
        assertThat(data.toString()).isEqualTo(before);
    }

    @Test
    void halfASurrogatePairInAResultFails() {
        assertThat(catchThrowableOfType(
                                EvaluationException.class,
                                () -> Expressions.compile("$replace(data.s, /^./, '')")
                                        .evaluate(name -> Json.NODES.objectNode().put("s", "\uD83D\uDE00\uD83D")))
                        .problem()
                        .code())
                .isEqualTo("EXPRESSION_FAILED");
    }
}

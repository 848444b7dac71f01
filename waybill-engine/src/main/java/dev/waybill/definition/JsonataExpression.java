package dev.waybill.definition;

import com.dashjoin.jsonata.JException;
import com.dashjoin.jsonata.Jsonata;
import com.dashjoin.jsonata.Parser;
import com.dashjoin.jsonata.Parser.Symbol;
import dev.waybill.definition.JsonViews.Result;
import dev.waybill.definition.JsonViews.ScopeMap;
import dev.waybill.json.Json;
import dev.waybill.model.Problem;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** A compiled JSONata expression. */
final class JsonataExpression implements Expression {
    private static final int MAX_MESSAGE = 500;
    private static final Pattern LONE_SURROGATES =
            Pattern.compile("[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]");

    private final String source;
    private final Jsonata jsonata;
    private final JsonataAst ast;
    private final @Nullable FastExpression fast;

    private JsonataExpression(String source, Jsonata jsonata, JsonataAst ast, @Nullable FastExpression fast) {
        this.source = source;
        this.jsonata = jsonata;
        this.ast = ast;
        this.fast = fast;
    }

    static JsonataExpression compile(String source) throws InvalidValueException {
        if (source.length() > Expressions.MAX_SOURCE) {
            throw new InvalidValueException("EXPRESSION_TOO_LONG", "an expression is longer than " + Expressions.MAX_SOURCE + " characters");
        }
        if (source.isBlank()) {
            throw new InvalidValueException("EXPRESSION_INVALID", "the expression is empty");
        }
        try {
            Jsonata jsonata = Jsonata.jsonata(source);
            // The library makes the newest expression this thread's working instance and changes it during an evaluation. A shared one
            // must never be that, or bindings leak between threads: an instance nobody shares takes its place.
            Jsonata.jsonata("0");
            jsonata.setValidateInput(false);
            jsonata.setOutputConvertNulls(false);
            Symbol root = tree(jsonata);
            JsonataAst ast = JsonataAst.of(root);
            if (ast.readsSecrets()) {
                throw new InvalidValueException(
                        "SECRET_IN_EXPRESSION", "an expression cannot read secrets; write {{ secrets.NAME }} where the secret goes");
            }
            return new JsonataExpression(source, jsonata, ast, FastExpression.of(root));
        } catch (JException e) {
            throw new InvalidValueException("EXPRESSION_INVALID", "the expression does not parse: " + shown(e.getMessage(), MAX_MESSAGE) + " in: " + brief(source));
        } catch (StackOverflowError e) {
            throw new InvalidValueException("EXPRESSION_INVALID", "the expression is nested too deeply");
        } catch (RuntimeException e) {
            // The library's parser answers some malformed texts with index and null pointer errors.
            throw new InvalidValueException("EXPRESSION_INVALID", "the expression does not parse (" + shown(e.toString(), MAX_MESSAGE) + ") in: " + brief(source));
        }
    }

    @Override
    public JsonNode evaluate(Scope scope) throws EvaluationException {
        return evaluate(scope, false);
    }

    JsonNode evaluate(Scope scope, boolean key) throws EvaluationException {
        JsonNode quick = fast == null ? null : fast.evaluate(scope, key);
        return quick == null ? evaluateByLibrary(scope, key) : quick;
    }

    /** Whether the everyday form answers this expression at all. */
    boolean isFast() {
        return fast != null;
    }

    JsonNode evaluateByLibrary(Scope scope, boolean key) throws EvaluationException {
        Evaluation evaluation = new Evaluation(ast, key);
        try {
            Jsonata.Frame frame = jsonata.createFrame();
            frame.setEvaluateEntryCallback(evaluation);
            frame.setEvaluateExitCallback(evaluation);
            JsonataFunctions.bind(ast.variables(), evaluation, frame);
            JsonNode result = new Result(evaluation).of(jsonata.evaluate(new ScopeMap(scope, evaluation), frame));
            if (evaluation.stopped() == null) {
                return result;
            }
            throw failed(evaluation.stopped(), null);
        } catch (StackOverflowError e) {
            throw failed(Problem.of("EXPRESSION_BOUND", "the evaluation is nested too deeply"), e);
        } catch (RuntimeException e) {
            Problem problem = evaluation.stopped();
            throw failed(problem != null ? problem : Problem.of("EXPRESSION_FAILED", rootMessage(e)), e);
        }
    }

    private EvaluationException failed(Problem problem, @Nullable Throwable cause) {
        EvaluationException failure = new EvaluationException(
                new Problem(problem.code(), problem.message() + ", in the expression: " + brief(source), false, null));
        if (cause != null && !(cause instanceof Evaluation.Stop)) {
            failure.initCause(cause);
        }
        return failure;
    }

    private static String rootMessage(Throwable thrown) {
        Throwable root = thrown;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        return shown(root.getMessage() == null ? root.toString() : root.getMessage(), MAX_MESSAGE);
    }

    private static String brief(String source) {
        return shown(source, 120);
    }

    /** The library quotes what it choked on, however large, and half characters as they are; this is stored and shown. */
    private static String shown(@Nullable String text, int most) {
        String whole = String.valueOf(text);
        String cut = whole.length() <= most ? whole : whole.substring(0, most - 3) + "...";
        return Json.hasLoneSurrogate(cut) ? LONE_SURROGATES.matcher(cut).replaceAll("?") : cut;
    }

    /** Whether it reads the attempt, the instance or anything else that changes between attempts and runs. */
    boolean usesRuntime() {
        return ast.usesRuntime();
    }

    /** Whether it is a concatenation that begins with literal text. */
    boolean startsWithText() {
        return fast instanceof FastExpression.Concat(var operands)
                && operands.getFirst() instanceof FastExpression.Literal(JsonNode first)
                && first.isString()
                && !first.stringValue().isBlank();
    }

    @Override
    public String source() {
        return source;
    }

    private static Symbol tree(Jsonata jsonata) {
        try {
            var field = Jsonata.class.getDeclaredField("ast");
            field.setAccessible(true);
            return (Parser.Symbol) field.get(jsonata);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("this version of the JSONata library keeps its tree elsewhere", e);
        }
    }
}

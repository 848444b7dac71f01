package dev.waybill.definition;

/**
 * Rewrites the C spellings {@code == && || !} of a condition to JSONata, outside of literals and comments. {@code !x} becomes
 * {@code (x ? false : true)} and not {@code $not(x)}, which is undefined where x is: who writes {@code !data.done} means true then.
 */
final class ConditionSyntax {
    /** Brackets and negations inside one another: each costs stack. */
    private static final int MAX_NESTING = 200;

    private final String source;
    private int at;
    private int nesting;
    /** Whether what was read last ends an operand: a slash then divides, else it starts a regular expression. */
    private boolean operandEnded;

    private ConditionSyntax(String source) {
        this.source = source;
    }

    /** @throws InvalidValueException EXPRESSION_INVALID when it is nested too deeply */
    static String toJsonata(String source) throws InvalidValueException {
        return new ConditionSyntax(source).until('\0');
    }

    /** Rewrites up to the closing bracket {@code end}, which is consumed and not returned. */
    private String until(char end) throws InvalidValueException {
        StringBuilder out = new StringBuilder();
        while (at < source.length()) {
            char c = source.charAt(at);
            if (c == end) {
                at++;
                return out.toString();
            }
            out.append(next());
        }
        return out.toString();
    }

    private String next() throws InvalidValueException {
        char c = source.charAt(at);
        if (c == '"' || c == '\'' || c == '`') {
            operandEnded = true;
            return quoted(c);
        }
        if (source.startsWith("/*", at)) {
            int close = source.indexOf("*/", at + 2);
            return take(close < 0 ? source.length() : close + 2);
        }
        if (c == '/' && !operandEnded) {
            operandEnded = true;
            return quoted('/');
        }
        if (c == '(' || c == '[' || c == '{') {
            return bracket(c);
        }
        if (source.startsWith("==", at)) {
            return operator(2, "=");
        }
        if (source.startsWith("!=", at)) {
            return operator(2, "!=");
        }
        if (source.startsWith("&&", at)) {
            return operator(2, " and ");
        }
        if (source.startsWith("||", at)) {
            return operator(2, " or ");
        }
        if (c == '!' && !operandEnded) {
            at++;
            deeper();
            String operand = operand();
            nesting--;
            // With nothing to negate the '!' stays, so that the JSONata parser says so.
            return operand.isEmpty() ? "!" : "(" + operand + " ? false : true)";
        }
        if (isNamePart(c)) {
            return name();
        }
        if (!Character.isWhitespace(c)) {
            operandEnded = c == ')' || c == ']' || c == '}' || c == '*' && !operandEnded;
        }
        return take(at + 1);
    }

    /** A word: after {@code and}, {@code or} and {@code in} another operand begins. */
    private String name() {
        int end = at;
        while (end < source.length() && isNamePart(source.charAt(end))) {
            end++;
        }
        String word = take(end);
        operandEnded = !(word.equals("and") || word.equals("or") || word.equals("in"));
        return word;
    }

    private String bracket(char open) throws InvalidValueException {
        char close = open == '(' ? ')' : open == '[' ? ']' : '}';
        at++;
        operandEnded = false;
        deeper();
        String inside = until(close);
        nesting--;
        operandEnded = true;
        // An unclosed bracket stays unclosed, so that the JSONata parser says so.
        boolean closed = source.charAt(at - 1) == close;
        return open + inside + (closed ? String.valueOf(close) : "");
    }

    /** What a {@code !} negates: one path, call, bracket or literal, with everything that follows it without white space or operator. */
    private String operand() throws InvalidValueException {
        StringBuilder out = new StringBuilder();
        while (at < source.length() && Character.isWhitespace(source.charAt(at))) {
            at++;
        }
        operandEnded = false;
        while (at < source.length()) {
            char c = source.charAt(at);
            boolean starts = !operandEnded || out.charAt(out.length() - 1) == '.';
            if (starts ? !Character.isWhitespace(c) && c != ')' && c != ']' && c != '}' && c != ',' : c == '.' || c == '(' || c == '[') {
                out.append(next());
                if (out.charAt(out.length() - 1) == '.') {
                    operandEnded = false;
                }
            } else {
                break;
            }
        }
        operandEnded = true;
        return out.toString();
    }

    private void deeper() throws InvalidValueException {
        if (++nesting > MAX_NESTING) {
            throw new InvalidValueException("EXPRESSION_INVALID", "the condition is nested deeper than " + MAX_NESTING);
        }
    }

    private String operator(int length, String replacement) {
        at += length;
        operandEnded = false;
        return replacement;
    }

    private String quoted(char quote) {
        int end = at + 1;
        while (end < source.length() && source.charAt(end) != quote) {
            end += source.charAt(end) == '\\' && quote != '`' ? 2 : 1;
        }
        return take(Math.min(end + 1, source.length()));
    }

    private String take(int end) {
        String text = source.substring(at, end);
        at = end;
        return text;
    }

    private static boolean isNamePart(char c) {
        return Character.isLetterOrDigit(c) || c == '_' || c == '$';
    }
}

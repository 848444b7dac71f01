package dev.waybill.check;

import dev.waybill.check.Findings.Violation;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** What a check came to. */
record Report(History history, List<Result> results) {
    /** How many more violations of one property are named, after the one whose story is told. */
    private static final int NAMED = 10;

    private static final int MAX_TIMELINE = 60;

    /** Among so many violations of one property the one with the shortest timeline is looked for. */
    private static final int COMPARED = 200;

    /** @param told at most {@link #COMPARED}; the violation with the shortest timeline comes first */
    record Result(Property property, int lookedAt, int violations, List<Told> told) {}

    record Told(Violation violation, List<Timeline.Entry> timeline) {}

    static Report of(History history) {
        return of(history, Set.of());
    }

    /** @param only names of the properties to check; none = all of them. @throws IllegalArgumentException when there is no such property */
    static Report of(History history, Set<String> only) {
        List<Property> asked = Property.all().stream().filter(property -> only.isEmpty() || only.contains(property.name())).toList();
        if (!only.isEmpty() && asked.size() < only.size()) {
            throw new IllegalArgumentException("not every one of " + only + " is a property");
        }
        return new Report(history, asked.stream().map(property -> result(history, property)).toList());
    }

    private static Result result(History history, Property property) {
        Findings findings = new Findings();
        property.check(history, findings);
        List<Told> told = findings.violations().stream()
                .limit(COMPARED)
                .map(violation -> new Told(violation, Timeline.of(history, violation.subject())))
                .sorted(Comparator.comparingInt(one -> one.timeline().size()))
                .toList();
        return new Result(property, findings.lookedAt(), findings.violations().size(), told);
    }

    boolean clean() {
        return results.stream().allMatch(result -> result.told().isEmpty());
    }

    /** Names of the properties that do not hold. */
    List<String> violated() {
        return results.stream().filter(result -> !result.told().isEmpty()).map(result -> result.property().name()).toList();
    }

    String text() {
        StringBuilder out = new StringBuilder();
        for (Result result : results) {
            String verdict = !result.told().isEmpty()
                    ? result.violations() + " VIOLATED"
                    : result.lookedAt() == 0 ? "looked at nothing" : "holds";
            out.append(String.format(
                    Locale.ROOT, "%-24s %8d looked at  %-18s %s%n", result.property().name(), result.lookedAt(), verdict, result.property().promise()));
        }
        for (Result result : results) {
            if (!result.told().isEmpty()) {
                out.append('\n').append(story(result));
            }
        }
        return out.append('\n').append(summary()).append('\n').toString();
    }

    private static String story(Result result) {
        Told first = result.told().getFirst();
        String told = result.property().name() + ": " + first.violation().subject() + "\n  " + first.violation().message() + "\n"
                + first.timeline().stream().limit(MAX_TIMELINE).map(entry -> "    " + entry + "\n").collect(Collectors.joining());
        if (first.timeline().size() > MAX_TIMELINE) {
            told += "    .. and " + (first.timeline().size() - MAX_TIMELINE) + " more\n";
        }
        return told
                + result.told().stream()
                        .skip(1)
                        .limit(NAMED)
                        .map(more -> "  also " + more.violation().subject() + ": " + more.violation().message() + "\n")
                        .collect(Collectors.joining())
                + (result.violations() > NAMED + 1 ? "  and " + (result.violations() - NAMED - 1) + " more\n" : "");
    }

    private String summary() {
        String seen = history.last.receipts.size() + " receipts of " + history.last.runs.size() + " runs, " + history.ledger.size()
                + " ledger lines, " + history.client.size() + " client calls, " + history.faults.size() + " faults: ";
        return seen + (clean() ? "clean" : "violated: " + String.join(", ", violated()));
    }

    ObjectNode json() {
        ObjectNode json = Json.MAPPER.createObjectNode().put("clean", clean());
        ArrayNode properties = json.putArray("properties");
        for (Result result : results) {
            ObjectNode property = properties.addObject();
            property.put("name", result.property().name());
            property.put("looked_at", result.lookedAt());
            property.put("violated", result.violations());
            ArrayNode violations = property.putArray("violations");
            for (Told told : result.told()) {
                ObjectNode violation = violations.addObject();
                violation.put("subject", told.violation().subject().toString());
                violation.put("message", told.violation().message());
                ArrayNode timeline = violation.putArray("timeline");
                told.timeline().forEach(entry -> timeline.addObject()
                        .put("at", entry.at().toString())
                        .put("witness", entry.witness())
                        .put("text", entry.text()));
            }
        }
        return json;
    }
}

package dev.waybill.check;

import dev.waybill.check.Rows.BlockRow;
import dev.waybill.check.Rows.Move;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;

/**
 * An interpreter of sequences written for this checker from language.md alone. It walks the document over the recorded outcomes and says
 * which positions may have run, none before which moment, and how the whole stands. Decisions it can work out itself it compares with the
 * recorded ones; the others it believes.
 */
final class Reference {
    /** How a part of a run stands. */
    sealed interface Status {
        record Done(Instant at) implements Status {}

        /** @param effect it stands open because an effect has no settled outcome or has lost its output */
        record Open(String path, boolean effect) implements Status {}

        /** @param outside told by somebody who is not the owner: the owner may have gone on for a moment */
        record Failed(Instant at, String path, boolean outside) implements Status {}
    }

    enum Kind {
        /** Something ran behind an effect that has not settled. */
        UNSETTLED_PREDECESSOR,
        /** Something ran that may not run, or not yet, or another way was taken. */
        ORDER,
        /** It is said to have ended, but something of it did not run. */
        SKIPPED
    }

    record Finding(Kind kind, String path, String message) {}

    /** Where a walk stopped: these blocks of the list were not reached. */
    private record Stop(String prefix, Set<String> ids, Status why) {}

    final List<Finding> findings = new ArrayList<>();
    /** Positions walked. */
    int positions;
    /** Decisions worked out here and compared. */
    int decisions;

    Status status = new Status.Open("", false);
    /** Why this run cannot be interpreted, or null. */
    @Nullable String unsupported;

    private final RunStory story;
    private final RecordedValues values;
    private final Map<String, Instant> allowed = new LinkedHashMap<>();
    private final List<Stop> stops = new ArrayList<>();

    private Reference(RunStory story) {
        this.story = story;
        this.values = new RecordedValues(story);
    }

    static Reference of(RunStory story) {
        Reference reference = new Reference(story);
        if (story.run == null || !story.document().path("blocks").isArray()) {
            reference.unsupported = "no definition";
            return reference;
        }
        reference.status = reference.blocks(story.document().path("blocks"), new Place("", Map.of(), false), Instant.MIN);
        if (reference.unsupported == null) {
            reference.strangers();
            reference.afterFailure();
        }
        return reference;
    }

    /** @param caught a failure here goes to a catch or a finally */
    private record Place(String prefix, Map<String, JsonNode> vars, boolean caught) {
        Place with(String name, JsonNode value) {
            Map<String, JsonNode> more = new HashMap<>(vars);
            more.put(name, value);
            return new Place(prefix, more, caught);
        }

        Place guarded() {
            return new Place(prefix, vars, true);
        }

        Place iteration(String path, int index) {
            return new Place(path + "[" + index + "]/", vars, caught);
        }
    }

    // --- the walk --------------------------------------------------------------------------------------------------------------

    private Status blocks(JsonNode list, Place place, Instant from) {
        Instant after = from;
        for (int i = 0; i < list.size(); i++) {
            JsonNode block = list.get(i);
            Status status =
                    switch (block.path("type").asString("")) {
                        case "step" -> step(block, place, after);
                        case "parallel" -> parallel(block, place, after);
                        case "router" -> router(block, place, after);
                        case "try_catch" -> tryCatch(block, place, after);
                        case "for_each" -> forEach(block, place, after);
                        case "loop" -> loop(block, place, after);
                        case "saga" -> saga(block, place, after);
                        default -> {
                            unsupported = "block type " + block.path("type");
                            yield new Status.Open(id(block, place), false);
                        }
                    };
            if (!(status instanceof Status.Done(Instant at))) {
                stop(place, list, i + 1, status);
                return status;
            }
            after = later(after, at);
        }
        return new Status.Done(after);
    }

    private void stop(Place place, JsonNode list, int from, Status why) {
        Set<String> ids = new HashSet<>();
        for (int i = from; i < list.size(); i++) {
            RecordedValues.blockIds(list.get(i), ids);
        }
        if (!ids.isEmpty()) {
            stops.add(new Stop(place.prefix, ids, why));
        }
    }

    private static String id(JsonNode block, Place place) {
        return place.prefix + block.path("id").asString("");
    }

    /** Notes that something may be at this path, but nothing from before {@code after}. */
    private void visit(String path, Instant after) {
        positions++;
        allowed.put(path, after);
        Instant begin = story.begin(path);
        if (begin != null && begin.isBefore(after)) {
            String ended = after.equals(Instant.MAX) ? "has not ended" : "ended only at " + after;
            finding(Kind.ORDER, path, path + " began at " + begin + ", what it stands behind " + ended);
        }
    }

    private Status step(JsonNode step, Place place, Instant after) {
        String path = id(step, place);
        visit(path, after);
        when(step, place, path);
        BlockRow row = story.lastRow(path);
        if (row != null && row.kind().equals("output")) {
            return new Status.Done(row.at());
        }
        if (row != null && row.kind().equals("error")) {
            Move move = story.moveOf(row.transitionId());
            return new Status.Failed(row.at(), path, move != null && !move.actor().equals("engine"));
        }
        List<Attempt> attempts = story.attempts(path);
        if (attempts.isEmpty()) {
            return new Status.Open(path, false);
        }
        if (attempts.stream().anyMatch(Attempt::unresolved)) {
            return new Status.Open(path, true);
        }
        // Of a chain of resends one carries the output.
        Move undone = attempts.getLast().state().equals("compensated") ? attempts.getLast().firstApplied() : null;
        if (undone != null) {
            return new Status.Done(undone.at()); // what it did was undone later; it had ended all the same
        }
        Attempt last = attempts.reversed().stream()
                .filter(one -> one.applied() && one.last() != null && !one.last().outputState().equals("none"))
                .findFirst()
                .orElse(attempts.getLast());
        Move move = last.last();
        if (last.applied() && move != null) {
            return switch (move.outputState()) {
                case "lost" -> new Status.Open(path, true);
                case "unusable" -> new Status.Failed(move.at(), path, !move.actor().equals("engine"));
                default -> new Status.Done(move.at());
            };
        }
        return new Status.Open(path, false);
    }

    private void when(JsonNode step, Place place, String path) {
        Boolean runs = step.has("when") ? decide(step.path("when"), place) : null;
        if (runs == null) {
            return;
        }
        BlockRow row = story.lastRow(path);
        boolean http = step.path("handler").asString("").equals("http_request");
        if (!runs && !story.attempts(path).isEmpty()) {
            finding(Kind.ORDER, path, path + " ran although its condition does not hold");
        } else if (runs && http && row != null && row.kind().equals("output") && "null".equals(row.body()) && story.attempts(path).isEmpty()) {
            finding(Kind.SKIPPED, path, path + " was skipped although its condition holds");
        }
    }

    private Status parallel(JsonNode block, Place place, Instant after) {
        List<Status> branches = new ArrayList<>();
        block.path("branches").forEach(branch -> branches.add(blocks(branch, place, after)));
        return joined(branches, place, after);
    }

    /** A join waits for every branch; a failure that nothing catches does not wait. */
    private static Status joined(List<Status> parts, Place place, Instant after) {
        Instant end = after;
        Status.Failed first = null;
        Status.Open open = null;
        for (Status part : parts) {
            switch (part) {
                case Status.Done(Instant at) -> end = later(end, at);
                case Status.Failed failed -> {
                    end = later(end, failed.at);
                    first = first == null || failed.at.isBefore(first.at) ? failed : first;
                }
                case Status.Open more -> open = open == null || !open.effect ? more : open;
            }
        }
        if (first != null && !place.caught) {
            return first;
        }
        if (open != null) {
            return open;
        }
        return first == null ? new Status.Done(end) : new Status.Failed(end, first.path, first.outside);
    }

    private Status router(JsonNode block, Place place, Instant after) {
        String path = id(block, place);
        visit(path, after);
        BlockRow row = story.lastRow(path);
        if (row == null || !row.kind().equals("frame")) {
            return row != null && row.kind().equals("error") ? new Status.Failed(row.at(), path, false) : new Status.Open(path, false);
        }
        int taken = Json.parse(row.body()).path("route").asInt(-1);
        Integer right = route(block.path("routes"), place);
        if (right != null && right != taken) {
            finding(Kind.ORDER, path, path + " took route " + taken + ", the conditions say " + right);
        }
        JsonNode blocks = taken < 0 ? block.path("default") : block.path("routes").path(taken).path("blocks");
        return blocks(blocks, place, later(after, row.at()));
    }

    private @Nullable Integer route(JsonNode routes, Place place) {
        for (int i = 0; i < routes.size(); i++) {
            Boolean holds = decide(routes.get(i).path("condition"), place);
            if (holds == null) {
                return null;
            }
            if (holds) {
                return i;
            }
        }
        return -1;
    }

    private Status tryCatch(JsonNode block, Place place, Instant after) {
        Status outcome = blocks(block.path("try_block"), place.guarded(), after);
        Instant ended = after;
        if (outcome instanceof Status.Failed failed) {
            ended = later(after, failed.at);
            Place catching = place.with("error", Json.parse(null));
            outcome = blocks(block.path("catch_block"), block.path("finally_block").isEmpty() ? catching : catching.guarded(), ended);
        }
        if (outcome instanceof Status.Open) {
            return outcome;
        }
        Instant last = outcome instanceof Status.Done(Instant at) ? at : outcome instanceof Status.Failed failed ? failed.at : ended;
        Instant before = failedBefore(block.path("catch_block"), place);
        Status cleaned = blocks(block.path("finally_block"), place, before != null && before.isBefore(last) ? before : later(ended, last));
        if (!(cleaned instanceof Status.Done(Instant at))) {
            return cleaned;
        }
        return outcome instanceof Status.Failed failed
                ? new Status.Failed(later(at, failed.at), failed.path, failed.outside)
                : new Status.Done(later(at, last));
    }

    /** When these blocks had failed, before a person had them run again; what stood behind that failure has run and stays so. */
    private @Nullable Instant failedBefore(JsonNode list, Place place) {
        Set<String> ids = new HashSet<>();
        RecordedValues.blockIds(list, ids);
        Instant first = null;
        for (List<BlockRow> rows : story.rows.subMap(place.prefix, place.prefix + '\uffff').values()) {
            for (int i = 1; i < rows.size(); i++) {
                Instant failed = rows.get(i - 1).at();
                boolean again = rows.get(i).kind().equals("cleared") && rows.get(i - 1).kind().equals("error");
                if (again && ids.contains(firstName(rows.get(i).path(), place.prefix)) && (first == null || failed.isBefore(first))) {
                    first = failed;
                }
            }
        }
        return first;
    }

    /** Actions stand one behind the other; what undoes them may run once one has failed, or the run undoes as a whole. */
    private Status saga(JsonNode block, Place place, Instant after) {
        String path = id(block, place);
        visit(path, after);
        BlockRow row = story.lastRow(path);
        BlockRow failed = row != null && row.kind().equals("frame") ? row : null;
        BlockRow whole = story.rows("$undo").isEmpty() ? null : story.rows("$undo").getFirst();
        Instant undoing = failed != null ? failed.at() : whole != null ? whole.at() : null;
        ArrayNode actions = Json.MAPPER.createArrayNode();
        Set<String> undoes = new HashSet<>();
        block.path("steps").forEach(step -> {
            actions.add(step.path("action"));
            RecordedValues.blockIds(step.path("compensation"), undoes);
        });
        Status status = blocks(actions, place.guarded(), after);
        Instant last = undoing == null ? after : undoing;
        boolean open = false;
        if (undoing != null) {
            for (String undo : story.paths(place.prefix)) {
                if (undoes.contains(firstName(undo, place.prefix))) {
                    visit(undo, undoing);
                    open |= story.attempts(undo).stream().anyMatch(Attempt::unresolved);
                    for (Attempt attempt : story.attempts(undo)) {
                        Move move = attempt.last();
                        last = later(last, move == null ? attempt.receipt().at() : move.at());
                    }
                }
            }
        }
        if (failed == null) {
            return row != null && row.kind().equals("output") ? new Status.Done(row.at()) : status instanceof Status.Done ? new Status.Open(path, false) : status;
        }
        boolean outside = status instanceof Status.Failed why && why.outside;
        return open ? new Status.Open(path, true) : new Status.Failed(last, path, outside);
    }

    private Status forEach(JsonNode block, Place place, Instant after) {
        String path = id(block, place);
        visit(path, after);
        List<BlockRow> rows = story.rows(path);
        BlockRow frame = rows.stream().filter(row -> row.kind().equals("frame")).findFirst().orElse(null);
        if (frame == null) {
            BlockRow row = story.lastRow(path);
            return row != null && row.kind().equals("error") ? new Status.Failed(row.at(), path, false) : new Status.Open(path, false);
        }
        JsonNode items = Json.parse(frame.body()).path("items");
        collection(block, place, path, items);
        Instant from = later(after, frame.at());
        int concurrency = Math.max(1, block.path("concurrency").asInt(1));
        List<Status> done = new ArrayList<>();
        PriorityQueue<Instant> latest = new PriorityQueue<>();
        Status.Failed failure = null;
        for (int i = 0; i < items.size(); i++) {
            Place iteration = place.iteration(path, i);
            Instant begun = story.beginUnder(iteration.prefix);
            if (failure != null && !failure.outside && begun != null && begun.isAfter(failure.at) && !story.beginHidden(iteration.prefix)) {
                finding(Kind.ORDER, path, iteration.prefix + " began at " + begun + ", after " + failure.path + " had failed");
            }
            if (failure != null && begun == null) {
                continue; // one behind it may have begun: what this one had begun a crash has taken
            }
            // As many of those before it as are too many must have ended: the earliest of the last ones frees the place.
            Instant free = latest.size() < concurrency ? from : later(from, latest.element());
            String variable = block.path("item_var").asString("item");
            Place inside = iteration.with(variable, items.get(i)).with("index", Json.MAPPER.getNodeFactory().numberNode(i));
            Status status = blocks(block.path("body"), inside, free);
            done.add(status);
            switch (status) {
                case Status.Done(Instant at) -> latest.add(at);
                case Status.Failed failed -> {
                    latest.add(failed.at);
                    failure = failure == null || failed.at.isBefore(failure.at) ? failed : failure;
                }
                case Status.Open _ -> latest.add(Instant.MAX);
            }
            if (latest.size() > concurrency) {
                latest.remove();
            }
        }
        return ended(path, joined(done, place, from), items.size(), "count", false);
    }

    private void collection(JsonNode block, Place place, String path, JsonNode items) {
        try {
            JsonNode right = Expressions.value(block.path("collection"), name -> values.root(name, place.prefix, place.vars));
            if (right.isArray()) {
                decisions++;
                if (!Json.same(right, items)) {
                    finding(Kind.ORDER, path, path + " went over other items than its collection has");
                }
            }
        } catch (Expressions.Beyond e) {
            // The recorded items are believed.
        }
    }

    private Status loop(JsonNode block, Place place, Instant after) {
        String path = id(block, place);
        visit(path, after);
        int most = block.path("max_iterations").asInt(1_000);
        boolean goesOn = block.path("continue_on_error").asBoolean(false);
        Instant from = after;
        for (int i = 0; i < most; i++) {
            String at = path + "[" + i + "]";
            Place inside = place.iteration(path, i).with("index", Json.MAPPER.getNodeFactory().numberNode(i));
            Verdict go = verdict(at, block.path("condition"), i == 0 ? place : place.iteration(path, i - 1), from);
            if (go.holds == null) {
                return go.otherwise;
            }
            from = later(from, go.at);
            if (!go.holds) {
                return ended(path, new Status.Done(from), i, "iterations", true);
            }
            Status status = blocks(block.path("body"), goesOn ? inside.guarded() : inside, from);
            if (status instanceof Status.Open || (status instanceof Status.Failed && !goesOn)) {
                return status;
            }
            from = later(from, status instanceof Status.Done(Instant end) ? end : ((Status.Failed) status).at);
            if (block.has("break_on")) {
                Verdict stop = verdict(inside.prefix + "$break", block.path("break_on"), inside, from);
                if (stop.holds == null) {
                    return stop.otherwise;
                }
                from = later(from, stop.at);
                if (stop.holds) {
                    return ended(path, new Status.Done(from), i + 1, "iterations", true);
                }
            }
            BlockRow poll = story.lastRow(inside.prefix + "$poll");
            if (poll != null) {
                visit(inside.prefix + "$poll", from);
                from = later(from, poll.at());
            }
        }
        return ended(path, new Status.Done(from), most, "iterations", true);
    }

    /** @param holds null = not recorded: {@code otherwise} is how the loop stands */
    private record Verdict(@Nullable Boolean holds, Instant at, Status otherwise) {}

    private Verdict verdict(String path, JsonNode condition, Place place, Instant after) {
        visit(path, after);
        BlockRow row = story.lastRow(path);
        if (row == null || !row.kind().equals("frame")) {
            Status status = row != null && row.kind().equals("error")
                    ? new Status.Failed(row.at(), path, false)
                    : new Status.Open(path, false);
            return new Verdict(null, after, status);
        }
        boolean recorded = Json.parse(row.body()).path("holds").asBoolean(false);
        Boolean right = decide(condition, place);
        if (right != null && right != recorded) {
            finding(Kind.ORDER, path, path + " was decided " + recorded + ", the condition says " + right);
        }
        return new Verdict(recorded, row.at(), new Status.Open(path, false));
    }

    /** A loop or for_each says by a row of its own that it has ended. @param every the walk came to the end by verdicts */
    private Status ended(String path, Status status, int count, String member, boolean every) {
        BlockRow row = story.lastRow(path);
        if (row == null || !row.kind().equals("output")) {
            return status instanceof Status.Done ? new Status.Open(path, false) : status;
        }
        if (!(status instanceof Status.Done(Instant at))) {
            finding(Kind.SKIPPED, path, path + " is said to have ended, but " + status);
            return status;
        }
        int said = Json.parse(row.body()).path(member).asInt(-1);
        if (said != count) {
            finding(Kind.SKIPPED, path, path + " says " + member + " " + said + ", it was " + count + (every ? " by its verdicts" : ""));
        }
        if (row.at().isBefore(at)) {
            finding(Kind.ORDER, path, path + " is said to have ended at " + row.at() + ", its last part ended at " + at);
        }
        return new Status.Done(row.at());
    }

    // --- what the rows should not hold -----------------------------------------------------------------------------------------

    /** How an unknown effect heals is written behind the path of its step; it is no position of its own. */
    private static final java.util.regex.Pattern HEALING = java.util.regex.Pattern.compile("\\$(verify|resend|escalated|before)$");

    /** Positions that ran although the walk never came to them. */
    private void strangers() {
        Set<String> paths = new java.util.TreeSet<>(story.effects.keySet());
        paths.addAll(story.rows.keySet());
        for (String path : paths) {
            if (allowed.containsKey(path) || path.startsWith("$") || HEALING.matcher(path).find()) {
                continue;
            }
            Stop stop = stops.stream().filter(one -> path.startsWith(one.prefix) && one.ids.contains(firstName(path, one.prefix))).findFirst().orElse(null);
            if (stop == null) {
                finding(Kind.ORDER, path, path + " ran, but no way through the sequence leads to it");
            } else if (stop.why instanceof Status.Open(String blocker, boolean effect)) {
                finding(
                        effect ? Kind.UNSETTLED_PREDECESSOR : Kind.ORDER, path,
                        path + " ran although " + blocker + " before it " + (effect ? "has no settled outcome" : "has not ended"));
            } else {
                finding(Kind.ORDER, path, path + " ran although what stands before it failed: " + stop.why);
            }
        }
    }

    /** The block id that a path names right behind the prefix. */
    private static String firstName(String path, String prefix) {
        int end = prefix.length();
        while (end < path.length() && path.charAt(end) != '[' && path.charAt(end) != '/') {
            end++;
        }
        return path.substring(prefix.length(), end);
    }

    /** Once nothing catches a failure, nothing new is sent in the whole run. */
    private void afterFailure() {
        if (!(status instanceof Status.Failed failed) || failed.outside) {
            return;
        }
        for (Attempt attempt : story.attempts()) {
            if (attempt.receipt().at().isAfter(failed.at) && !story.compensates(attempt)) {
                finding(
                        Kind.ORDER, attempt.receipt().path(),
                        attempt + " was sent at " + attempt.receipt().at() + ", after " + failed.path + " had failed uncaught");
            }
        }
    }

    private @Nullable Boolean decide(JsonNode condition, Place place) {
        try {
            boolean holds = Expressions.holds(condition, name -> values.root(name, place.prefix, place.vars));
            decisions++;
            return holds;
        } catch (Expressions.Beyond e) {
            return null;
        }
    }

    private void finding(Kind kind, String path, String message) {
        findings.add(new Finding(kind, path, message));
    }

    private static Instant later(Instant a, Instant b) {
        return a.isBefore(b) ? b : a;
    }
}

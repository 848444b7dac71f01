package dev.waybill.definition;

import dev.waybill.definition.Destinations.Lookup;
import dev.waybill.definition.Sequence.Effect;
import dev.waybill.definition.Sequence.OnUnknown;
import dev.waybill.definition.Sequence.Remedy;
import dev.waybill.definition.Sequence.Step;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Warnings about what weakens a guarantee: legal all of it, and each with a stable code, a page and the place that makes it so. A warning
 * never refuses a document. What only a destination profile could say is not warned of where one may be found when the step runs.
 */
final class Lint {
    /** What a node adds to a step's timeout and settle before a receipt is quiet, and the timeout of a step that names none. */
    private static final Duration SEND_DEADLINE = Duration.ofSeconds(2);
    private static final Duration STEP_TIMEOUT = Duration.ofSeconds(10);

    private static final Pattern SECRET = Pattern.compile("\\{\\{[^}]*\\bsecrets\\.|credentials://");
    private static final Pattern ID = Pattern.compile("(?:.*_)?[iI][dD]|.*[a-z0-9]Id");

    private final Faults faults;

    Lint(Faults faults) {
        this.faults = faults;
    }

    /**
     * Of a step that is an effect.
     *
     * @param effect   with what is known of its destination; null when nothing is
     * @param byHeader a header of the request carries a key
     * @param declared whether its handler is built in
     * @param sequences the sequence's {@code on_unknown}
     */
    void effect(Fields step, Step read, @Nullable Effect effect, Lookup known, boolean byHeader, boolean declared, List<Remedy> sequences) {
        Effect all = effect == null ? Effect.DEFAULT : effect;
        String place = effect == null || !step.has("effect") ? step.pointer : step.at("effect");
        boolean keyed = all.key() != null;
        boolean open = known.open();
        if (!declared && read.effect() == null && known.profile() == null) {
            faults.warn("WB013", step.at("handler"), "the handler " + read.handler() + " is not built in and the step declares no effect: it is taken for one");
        }
        if (!keyed && !byHeader) {
            faults.warn("WB001", place, "no idempotency key: where the outcome is unknown nothing can be sent again by itself");
        }
        if (all.verify() == null && !open) {
            faults.warn("WB002", place, "no verifier: where the outcome is unknown nobody can be asked but a person");
        }
        if (keyed && all.keyWindow() == null && !open) {
            faults.warn("WB003", place, "the key has no window: how long the destination honours it is not known, and so nothing is sent again");
        }
        if (!keyed && !byHeader && read.retry().maxAttempts() > 1) {
            faults.warn("WB004", step.at("retry"), "a retry without a key covers only what was certainly not applied; an unknown outcome waits all the same");
        }
        Duration timeout = read.timeout() == null ? STEP_TIMEOUT : read.timeout();
        if (all.settle().compareTo(timeout) < 0 && !all.repeats() && (keyed || all.verify() != null)) {
            faults.warn("WB005", place, "settle (" + all.settle().toMillis() + " ms) is shorter than the timeout (" + timeout.toMillis()
                    + " ms): what is slow on its way may still arrive when it is taken for absent");
        }
        if (all.repeats()) {
            faults.warn("WB006", step.at("effect") + "/repeats", "repeats are accepted: the effect may happen more than once");
        }
        List<Remedy> remedies = read.onUnknown() == null ? sequences : read.onUnknown();
        if (remedies.stream().anyMatch(remedy -> remedy.what() == OnUnknown.FAIL)) {
            faults.warn("WB007", read.onUnknown() == null ? step.pointer : step.at("on_unknown"), "on_unknown: fail ends the run while what it did is not known");
        }
        Set<Integer> written = read.effect() == null ? Set.of() : read.effect().statusMap().keySet();
        all.statusMap().forEach((status, outcome) -> {
            if (status >= 500 && (outcome.equals("not_applied") || outcome.equals("rejected"))) {
                faults.warn("WB008", written.contains(status) ? step.at("effect") + "/status/" + status : step.pointer, "status " + status + " is declared " + outcome
                        + ": a server that failed after it acted is then called twice");
            }
        });
        if (keyed && all.keyWindow() != null) {
            window(step, all, all.keyWindow(), timeout, remedies, place);
            JsonNode params = step.get("params");
            if (params != null && params.isObject()) {
                params.properties().stream().filter(param -> !param.getKey().equals("headers")).forEach(param -> secret(param.getValue(), step.at("params") + "/" + Pointers.escape(param.getKey())));
            }
        }
    }

    private void window(Fields step, Effect effect, Duration window, Duration timeout, List<Remedy> remedies, String place) {
        Duration usable = usable(window);
        Duration quiet = SEND_DEADLINE.plus(timeout).plus(effect.settle());
        Duration before = quiet;
        for (Remedy remedy : remedies) {
            if (remedy.what() == OnUnknown.RESEND) {
                if (usable.compareTo(before) <= 0) {
                    faults.warn("WB010", place, "the key's window (" + window.toMillis() + " ms, usable " + usable.toMillis()
                            + ") is over before a resend may go (" + before.toMillis() + " ms): nothing is ever sent again");
                }
                return;
            }
            if (remedy.what() == OnUnknown.WAIT && remedy.time() != null && remedy.time().compareTo(before) > 0) {
                before = remedy.time();
            }
        }
    }

    /** As the engine reckons it: less a tenth, at least five minutes or half of a short window (docs/healing.md). */
    private static Duration usable(Duration window) {
        long millis = window.toMillis();
        return Duration.ofMillis(millis - Math.max(millis / 10, Math.min(Duration.ofMinutes(5).toMillis(), millis / 2)));
    }

    private void secret(JsonNode node, String at) {
        if (node.isString() && SECRET.matcher(node.stringValue()).find()) {
            faults.warn("WB009", at, "a secret outside the headers forbids the resend: that the bytes are the same could not be shown");
        } else if (node.isObject()) {
            node.properties().forEach(member -> secret(member.getValue(), at + "/" + Pointers.escape(member.getKey())));
        } else if (node.isArray()) {
            for (int i = 0; i < node.size(); i++) {
                secret(node.get(i), at + "/" + i);
            }
        }
    }

    /** Ids that are numbers no other JSON reader keeps: with a fraction, an exponent, or beyond 2^53. */
    void ids(@Nullable JsonNode node, String at) {
        if (node == null) {
            return;
        }
        if (node.isObject()) {
            node.properties().forEach(member -> {
                String here = at + "/" + Pointers.escape(member.getKey());
                JsonNode value = member.getValue();
                if (ID.matcher(member.getKey()).matches() && (inexact(value) || value.isObject() && value.path("type").asString("").equals("number"))) {
                    faults.warn("WB011", here, "an id that is a number with a fraction or beyond 2^53 is rounded by others: make it a string");
                }
                ids(value, here);
            });
        } else if (node.isArray()) {
            for (int i = 0; i < node.size(); i++) {
                ids(node.get(i), at + "/" + i);
            }
        }
    }

    private static boolean inexact(JsonNode value) {
        return value.isNumber() && (!value.isIntegralNumber() || value.bigIntegerValue().bitLength() > 53);
    }

    /** Profiles of the document that no step comes to. */
    void unused(Destinations own, Set<DestinationProfile> used) {
        List<DestinationProfile> profiles = own.profiles();
        for (int i = 0; i < profiles.size(); i++) {
            if (!used.contains(profiles.get(i))) {
                faults.warn("WB012", "/destinations/" + i + "/match", "no step's destination begins with " + profiles.get(i).match() + ": this profile says nothing");
            }
        }
    }
}

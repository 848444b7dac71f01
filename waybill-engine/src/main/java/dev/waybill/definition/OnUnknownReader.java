package dev.waybill.definition;

import dev.waybill.definition.Sequence.Effect;
import dev.waybill.definition.Sequence.OnUnknown;
import dev.waybill.definition.Sequence.Remedy;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Reads {@code on_unknown}: an ordered list, each entry a name or {@code {name: bounds}} (semantics.md section 5). An entry is followed
 * until its bound is reached; then the next one has its turn, and behind the last one a person.
 */
final class OnUnknownReader {
    /** What is declared is done; the rest is for a person. */
    static final List<Remedy> DEFAULT = List.of(Remedy.of(OnUnknown.VERIFY), Remedy.of(OnUnknown.RESEND), Remedy.of(OnUnknown.WAIT));

    private static final List<String> NAMES = List.of("verify", "resend", "wait", "fail");
    static final int MAX_READS = 10_000;
    static final int MAX_RESENDS = 100;

    private OnUnknownReader() {}

    /** Null when it is not given. */
    static @Nullable List<Remedy> read(Fields fields, Faults faults) {
        JsonNode given = fields.get("on_unknown");
        if (given == null) {
            return null;
        }
        List<JsonNode> entries = new ArrayList<>();
        if (given.isArray()) {
            given.forEach(entries::add);
        } else {
            entries.add(given);
        }
        if (entries.isEmpty()) {
            fields.fault("INVALID_VALUE", "on_unknown", "on_unknown must not be empty");
        }
        List<Remedy> list = new ArrayList<>();
        Set<OnUnknown> seen = EnumSet.noneOf(OnUnknown.class);
        boolean endless = false;
        for (int i = 0; i < entries.size(); i++) {
            String at = fields.at("on_unknown") + (given.isArray() ? "/" + i : "");
            Remedy remedy = entry(entries.get(i), at, faults);
            if (remedy == null) {
                continue;
            }
            if (!seen.add(remedy.what())) {
                faults.add("INVALID_VALUE", at, name(remedy) + " is listed twice");
            } else if (endless) {
                faults.add("INVALID_VALUE", at, name(remedy) + " is never reached: what stands before it has no end");
            }
            endless |= remedy.what() == OnUnknown.FAIL || remedy.what() == OnUnknown.WAIT && remedy.time() == null;
            list.add(remedy);
        }
        return List.copyOf(list);
    }

    private static @Nullable Remedy entry(JsonNode entry, String at, Faults faults) {
        String name = entry.isString() ? entry.stringValue() : entry.isObject() && entry.size() == 1 ? entry.propertyNames().iterator().next() : "";
        if (!NAMES.contains(name)) {
            faults.add(
                    "INVALID_VALUE", at,
                    "an entry of on_unknown is verify, resend, wait or fail, or one of them with its bounds, as in {\"resend\": {\"max\": 2}}"
                            + Fields.near(name, NAMES));
            return null;
        }
        OnUnknown what = OnUnknown.valueOf(name.toUpperCase(Locale.ROOT));
        if (entry.isString()) {
            return Remedy.of(what);
        }
        String inside = at + "/" + name;
        if (!entry.get(name).isObject()) {
            faults.add("WRONG_TYPE", inside, "the bounds of " + name + " are an object");
            return Remedy.of(what);
        }
        Fields bounds = new Fields(entry.get(name), inside, faults);
        Remedy remedy = switch (what) {
            case VERIFY -> new Remedy(what, whole(bounds, "max_reads", MAX_READS), bounds.duration("give_up"));
            case RESEND -> new Remedy(what, whole(bounds, "max", MAX_RESENDS), bounds.duration("backoff"));
            case WAIT -> new Remedy(what, null, bounds.duration("for"));
            case FAIL -> Remedy.of(what);
        };
        bounds.done();
        return remedy;
    }

    private static @Nullable Integer whole(Fields bounds, String name, int most) {
        return bounds.has(name) ? (Integer) bounds.integer(name, 1, most, 1) : null;
    }

    private static String name(Remedy remedy) {
        return remedy.what().name().toLowerCase(Locale.ROOT);
    }

    /**
     * A step that asks for a remedy by name must have declared what it needs.
     *
     * @param effect with what is known of its destination
     * @param open   a destination profile that is only found when it runs may know it
     */
    static void check(List<Remedy> list, @Nullable Effect effect, boolean open, Fields fields, Faults faults) {
        JsonNode given = fields.get("on_unknown");
        for (int i = 0; i < list.size(); i++) {
            String at = fields.at("on_unknown") + (given != null && given.isArray() ? "/" + i : "");
            OnUnknown what = list.get(i).what();
            if (what == OnUnknown.VERIFY && !open && (effect == null || effect.verify() == null)) {
                faults.add("VERIFIER_MISSING", at, "verify needs a question to ask: declare effect.verify");
            }
            if (what == OnUnknown.RESEND && (effect == null || effect.key() == null || effect.keyWindow() == null && !open)) {
                faults.add(
                        "KEY_CONTRACT_MISSING", at,
                        "resend needs a destination that honours a key for a known time: declare effect.idempotency {key, window}");
            }
        }
    }
}

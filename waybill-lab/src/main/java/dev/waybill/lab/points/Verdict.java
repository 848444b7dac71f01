package dev.waybill.lab.points;

import dev.waybill.Waybill;
import dev.waybill.model.EffectState;
import dev.waybill.model.Proof;
import dev.waybill.operate.RunView;
import dev.waybill.store.JournalRow;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.test.Delivery;
import dev.waybill.test.FakeProvider;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Holds the end of a trial against the scenario and the provider's ledger.
 *
 * @param story {@code charge#0 committed 1/1, .. completed}: receipts with deliveries and applications, then the run
 */
record Verdict(String story, List<String> wrong) {
    private static final String TENANT = "default";

    static Verdict of(Scenario scenario, Waybill engine, RunView end, FakeProvider provider, String order) {
        List<String> wrong = new ArrayList<>();
        StringBuilder story = new StringBuilder();
        Map<String, List<EffectView>> effects = new TreeMap<>();
        engine.runs().effects(TENANT, end.id()).stream()
                .sorted(Comparator.comparing((EffectView one) -> one.receipt().path()).thenComparing(one -> one.receipt().attempt()))
                .forEach(one -> effects.computeIfAbsent(one.receipt().path(), path -> new ArrayList<>()).add(one));
        effects.values().forEach(attempts -> {
            for (int i = 0; i < attempts.size(); i++) {
                String id = attempts.get(i).receipt().id().toString();
                int delivered = provider.seen(delivery -> id.equals(delivery.effectId()));
                int applied = provider.applied(delivery -> id.equals(delivery.effectId()));
                List<JournalRow> journal = engine.effects().get(TENANT, id).journal();
                String name = attempts.get(i).receipt().path() + "#" + attempts.get(i).receipt().attempt();
                story.append(name).append(' ').append(attempts.get(i).state().wire()).append(' ').append(delivered).append('/').append(applied).append(", ");
                receipt(name, attempts.get(i), journal, delivered, applied, wrong);
                if (i > 0) {
                    again(name, attempts.get(i - 1), wrong);
                }
            }
        });
        story.append(end.state().wire());
        if (!end.state().wire().equals(scenario.end())) {
            wrong.add("the run is " + end.state().wire() + " " + end.reasons() + (end.error() == null ? "" : " " + end.error())
                    + ", it should be " + scenario.end());
        }
        scenario.applied().forEach((path, bounds) -> {
            int applied = provider.applied(delivery -> delivery.path().equals(path) && of(delivery, order));
            if (applied < bounds.least() || applied > bounds.most()) {
                wrong.add(path + " was done " + applied + " times, it should be " + bounds.least() + ".." + bounds.most());
            }
        });
        long nameless = provider.deliveries().stream().filter(delivery -> delivery.effectId() == null).count();
        if (nameless > 0) {
            wrong.add(nameless + " requests named no receipt");
        }
        // The ledger was wiped when this trial began: who else could have sent was dead by then.
        provider.deliveries().stream().filter(delivery -> !of(delivery, order)).forEach(ghost -> wrong.add("a dead process sent " + ghost));
        return new Verdict(story.toString(), wrong);
    }

    private static boolean of(Delivery delivery, String order) {
        return delivery.text().contains("\"" + order + "\"");
    }

    private static void receipt(String name, EffectView effect, List<JournalRow> journal, int delivered, int applied, List<String> wrong) {
        if (delivered > 1) {
            wrong.add(name + " was delivered " + delivered + " times");
        }
        for (int i = 0; i < journal.size(); i++) {
            if (journal.get(i).n() != i + 1) {
                wrong.add(name + " has a gap in its journal before n=" + journal.get(i).n());
            }
        }
        if (effect.state().applied() && applied != 1) {
            wrong.add(name + " is " + effect.state().wire() + ", but was done " + applied + " times");
        }
        if (!effect.state().applied() && applied != 0) {
            wrong.add(name + " is " + effect.state().wire() + ", but was done");
        }
        boolean notSent = effect.state() == EffectState.NOT_APPLIED && journal.getLast().proof() == Proof.NOT_SENT;
        if (notSent && delivered > 0) {
            wrong.add(name + " is said not to have been sent, but arrived");
        }
        if (effect.state().unresolved()) {
            wrong.add(name + " is still " + effect.state().wire());
        }
        if (effect.state() == EffectState.COMMITTED && journal.getLast().output() == null) {
            wrong.add(name + " is committed and has no output");
        }
    }

    /** An attempt behind another one: only after a definite no or a person's word. */
    private static void again(String name, EffectView before, List<String> wrong) {
        if (before.state() != EffectState.NOT_APPLIED && before.state() != EffectState.ABANDONED) {
            wrong.add(name + " was sent although the attempt before is " + before.state().wire());
        }
    }
}

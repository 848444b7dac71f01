package dev.waybill.check;

import dev.waybill.check.Rows.Move;
import dev.waybill.check.Rows.Receipt;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * S5. Within a run, what owners wrote carries claims in the order of their epochs: a row of an older claim behind one of a newer claim
 * is the work of an owner that had lost it. {@code engine-late}, {@code recorder} and {@code operator:} are outside moves and hold no claim.
 */
final class FencedOwner implements Property {
    /** One row that the owner of a claim wrote. */
    private record Owned(Instant at, long epoch, @Nullable String nonce, String path, String what) {}

    @Override
    public String name() {
        return "fenced-owner";
    }

    @Override
    public String promise() {
        return "who has lost the claim changes nothing; epochs only grow";
    }

    @Override
    public void check(History history, Findings findings) {
        Map<String, List<Rows.Claim>> claims = new HashMap<>();
        history.last.claims.forEach(claim -> claims.computeIfAbsent(claim.instanceId(), id -> new ArrayList<>()).add(claim));
        for (RunStory story : history.runs()) {
            List<Owned> owned = new ArrayList<>();
            for (Attempt attempt : story.attempts()) {
                Receipt receipt = attempt.receipt();
                owned.add(new Owned(receipt.at(), receipt.claimEpoch(), receipt.claimNonce(), receipt.path(), attempt + " dispatched"));
                lease(history, attempt, findings);
                for (Move move : attempt.moves()) {
                    String fault = fault(receipt, move);
                    findings.expect(fault == null, Subject.of(attempt), attempt + " n=" + move.n() + ": " + fault);
                    if (move.byOwner() && move.claimEpoch() != null) {
                        owned.add(new Owned(
                                move.at(), move.claimEpoch(), move.claimNonce(), receipt.path(), attempt + " " + move.toState()));
                    }
                }
            }
            order(story, owned, findings);
            known(story, owned, claims.get(story.key.id()), findings);
        }
        between(history, findings);
    }

    private static @Nullable String fault(Receipt receipt, Move move) {
        boolean dispatchers = Objects.equals(move.claimEpoch(), receipt.claimEpoch())
                && receipt.claimNonce().equals(move.claimNonce());
        if (move.byPerson()) {
            return move.claimEpoch() == null ? null : "a person acted under a claim";
        }
        return switch (move.actor()) {
            case "engine" -> dispatchers ? null : "the owner settled what another claim dispatched";
            case "engine-late" -> dispatchers ? null : "a late answer came from another claim than the one that dispatched";
            case "recorder" -> dispatchers ? null : "the flight recorder spoke of another claim than the one that dispatched";
            case "recovery" -> {
                if (move.claimEpoch() == null) {
                    yield "ledger_may_be_behind".equals(move.reason()) ? null : "recovery acted without a claim";
                }
                yield move.claimEpoch() > receipt.claimEpoch() ? null : "recovery acted under epoch " + move.claimEpoch() + ", not a newer one";
            }
            default -> null;
        };
    }

    /** An intent needs a lease that lives; the row of a node that was fenced keeps the end of its last one. */
    private static void lease(History history, Attempt attempt, Findings findings) {
        Rows.Node node = history.node(attempt.receipt().nodeId());
        if (node != null) {
            findings.expect(
                    attempt.receipt().at().isBefore(node.expiresAt()), Subject.of(attempt),
                    attempt + " was dispatched by node " + node.name() + " after its lease ended at " + node.expiresAt());
        }
    }

    private static void order(RunStory story, List<Owned> owned, Findings findings) {
        owned.sort(Comparator.comparing(Owned::at).thenComparingLong(Owned::epoch));
        Map<Long, String> nonces = new HashMap<>();
        Owned highest = null;
        for (Owned row : owned) {
            Subject subject = Subject.of(story.key, row.path);
            findings.expect(
                    highest == null || row.epoch >= highest.epoch, subject,
                    row.what + " under epoch " + row.epoch + " at " + row.at + ", after epoch " + (highest == null ? 0 : highest.epoch)
                            + " had begun");
            if (highest == null || row.epoch > highest.epoch) {
                highest = row;
            }
            String nonce = row.nonce == null ? "" : row.nonce;
            String before = nonces.putIfAbsent(row.epoch, nonce);
            findings.expect(before == null || before.equals(nonce), subject, "epoch " + row.epoch + " has two nonces");
        }
        Rows.Run run = story.run;
        if (run != null && highest != null) {
            findings.expect(
                    run.claimEpoch() >= highest.epoch, Subject.of(story.key, highest.path),
                    highest.what + " under epoch " + highest.epoch + ", but the run's epoch is " + run.claimEpoch());
        }
    }

    /** Where the lab recorded every claim: the claim was really given out, and it was the newest one then. */
    private static void known(RunStory story, List<Owned> owned, @Nullable List<Rows.Claim> claims, Findings findings) {
        if (claims == null) {
            return;
        }
        for (Owned row : owned) {
            boolean given = claims.stream().anyMatch(claim -> claim.claimEpoch() == row.epoch && claim.claimNonce().equals(row.nonce));
            findings.expect(given, Subject.of(story.key, row.path), row.what + " under a claim that was never given out: epoch " + row.epoch);
        }
    }

    private static void between(History history, Findings findings) {
        for (int i = 1; i < history.dumps.size(); i++) {
            Map<Rows.RunKey, Long> before = new HashMap<>();
            history.dumps.get(i - 1).runs.forEach(run -> before.put(run.key(), run.claimEpoch()));
            for (Rows.Run run : history.dumps.get(i).runs) {
                Long epoch = before.get(run.key());
                if (epoch != null) {
                    findings.expect(
                            run.claimEpoch() >= epoch, Subject.of(run.key()),
                            "the epoch fell from " + epoch + " to " + run.claimEpoch() + " between two dumps");
                }
            }
        }
    }
}

package dev.waybill.store;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What a move carries for the invariants of its sequence version (semantics.md section 6); {@link #NONE} for the many that have none,
 * which then pay nothing.
 *
 * @param guards     content that intents of this commit want for their effect alone; decided by the database, and written only with the
 *                intent
 * @param freed      paths of effects that ended without application: what they hold is free again
 * @param freedByEnd the same, but only when the commit releases its instance
 * @param results    INSERT only; those about the run as a whole only when the commit releases it
 */
public record InvariantRows(List<Guard> guards, Set<String> freed, Set<String> freedByEnd, List<Result> results) {
    public static final InvariantRows NONE = new InvariantRows(List.of(), Set.of(), Set.of(), List.of());

    /** What stands whatever becomes of intents and release. */
    public InvariantRows ofSettles() {
        return isEmpty() ? NONE : new InvariantRows(List.of(), freed, Set.of(), results.stream().filter(it -> !it.ofRun()).toList());
    }

    /** What is freed by a commit that did or did not release its instance. */
    public Set<String> freed(boolean released) {
        if (!released || freedByEnd.isEmpty()) {
            return freed;
        }
        Set<String> all = new HashSet<>(freed);
        all.addAll(freedByEnd);
        return all;
    }

    /** The results that belong to a commit that did or did not release its instance. */
    public List<Result> results(boolean released) {
        return released ? results : results.stream().filter(it -> !it.ofRun()).toList();
    }

    public boolean isEmpty() {
        return guards.isEmpty() && freed.isEmpty() && freedByEnd.isEmpty() && results.isEmpty();
    }

    /**
     * Content that at most one effect may have. (tenant, scope, kind, destination fingerprint, content) is the key; the effect
     * (instance, path) that inserted it first holds it: every attempt of the same effect passes, another effect's intent is a duplicate.
     *
     * @param path          the effect
     * @param attempt       the attempt that asks
     * @param invariant     who asks for it, for the answer
     * @param scope         {@code execution:<id>} or {@code tenant}
     * @param fingerprint   hex or free text, as on the receipt
     * @param contentSha256 hex: the request hash, or that of a business key
     * @param windowMillis  how long it is held; then another effect may take it, unless the holder is unresolved; null = for ever
     */
    public record Guard(
            String path,
            int attempt,
            String invariant,
            String scope,
            String kind,
            String fingerprint,
            String contentSha256,
            @Nullable Long windowMillis) {}

    /**
     * Who holds the content.
     *
     * @param invariant the invariant that asked
     * @param instance  the instance whose effect it is
     * @param attempt   the attempt that took it
     */
    public record Holder(String invariant, UUID instance, String path, int attempt, UUID receipt) {}

    /**
     * One judgement of one invariant.
     *
     * @param rule    type of the rule
     * @param path    the effect it is about, or an empty string for the run as a whole
     * @param held    false = violated
     * @param details JSON text
     */
    public record Result(String invariant, String rule, String path, boolean held, String details) {
        boolean ofRun() {
            return path.isEmpty();
        }
    }
}

package dev.waybill.check;

import java.time.Instant;
import java.util.Base64;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What the inputs are made of. Ids are text; JSON columns are text as they were stored; bytes are Base64. */
final class Rows {
    private Rows() {}

    /** Which run. */
    record RunKey(String tenant, String id) {
        RunKey {
            Objects.requireNonNull(tenant, "tenant_id");
            Objects.requireNonNull(id, "instance_id");
        }

        @Override
        public String toString() {
            return "run " + id;
        }
    }

    /** What was intended, before a byte left. */
    record Receipt(
            String tenantId, String instanceId, String path, int attempt, String id, String executionId, String state, String kind,
            String handler, String destination, String destinationFingerprint, @Nullable String idempotencyKey, String requestSha256,
            @Nullable String request, long claimEpoch, String claimNonce, String nodeId, String transitionId, Instant at, Instant quietAt,
            @Nullable String resendOf, @Nullable Long keyWindowMillis) {
        Receipt {
            Objects.requireNonNull(path, "path");
            Objects.requireNonNull(id, "id");
            Objects.requireNonNull(at, "at");
            Objects.requireNonNull(quietAt, "quiet_at");
        }

        RunKey run() {
            return new RunKey(tenantId, instanceId);
        }

        /** A request that asks for something to be done, as far as its method says. */
        boolean writes() {
            String method = Json.parse(request).path("method").asString("").toUpperCase(java.util.Locale.ROOT);
            return !method.equals("GET") && !method.equals("HEAD");
        }
    }

    /** A row of the receipt's journal. */
    record Move(
            String tenantId, String instanceId, String path, int attempt, int n, String fromState, String toState, String actor,
            @Nullable Long claimEpoch, @Nullable String claimNonce, String transitionId, Instant at, @Nullable String proof,
            @Nullable String reason, @Nullable String message, @Nullable String providerReceiptId, @Nullable Long retryInMillis,
            String outputState, @Nullable String problem, @Nullable String output, @Nullable Integer replyStatus, boolean replyTruncated,
            @Nullable String replyBody) {
        Move {
            Objects.requireNonNull(path, "path");
            Objects.requireNonNull(at, "at");
        }

        RunKey run() {
            return new RunKey(tenantId, instanceId);
        }

        /** By the owner of a claim, not from outside. */
        boolean byOwner() {
            return actor.equals("engine") || actor.equals("recovery");
        }

        boolean byPerson() {
            return actor.startsWith("operator:");
        }

        byte[] reply() {
            return replyBody == null ? new byte[0] : Base64.getDecoder().decode(replyBody);
        }
    }

    /** A row of {@code block_outputs}: output, error, retry, timer, frame, cleared or state. */
    record BlockRow(
            String tenantId, String instanceId, String path, int n, String kind, @Nullable Long dueInMillis, String transitionId,
            Instant at, @Nullable String body) {
        BlockRow {
            Objects.requireNonNull(path, "path");
            Objects.requireNonNull(at, "at");
        }

        RunKey run() {
            return new RunKey(tenantId, instanceId);
        }
    }

    /** A run: its hot row and its data. */
    record Run(
            String tenantId, String id, String executionId, String sequenceId, String state, @Nullable Instant nextFireAt, long claimEpoch,
            String claimNonce, @Nullable String claimNode, long wakeSeq, boolean cancelRequested, boolean pauseRequested,
            Instant createdAt, Instant updatedAt, @Nullable String dedupKey, @Nullable String reasons, @Nullable String outcome,
            @Nullable String context) {
        Run {
            Objects.requireNonNull(createdAt, "created_at");
            Objects.requireNonNull(updatedAt, "updated_at");
        }

        RunKey key() {
            return new RunKey(tenantId, id);
        }

        boolean terminal() {
            return state.equals("completed") || state.equals("failed") || state.equals("cancelled");
        }
    }

    /** The queue of what needs somebody. */
    record Open(String tenantId, String instanceId, String path, int attempt, String id, String state) {
        RunKey run() {
            return new RunKey(tenantId, instanceId);
        }
    }

    record Evidence(String tenantId, String instanceId, String path, int attempt, String kind, String actor, Instant at, String body) {
        RunKey run() {
            return new RunKey(tenantId, instanceId);
        }
    }

    record Event(String tenantId, String instanceId, String type, @Nullable String subject, Instant at) {
        RunKey run() {
            return new RunKey(tenantId, instanceId);
        }
    }

    /** One start of one node. */
    record Node(String id, String name, Instant startedAt, Instant expiresAt, boolean fenced) {}

    record Sequence(String tenantId, String id, String name, int version, String definition) {}

    record DedupKey(String tenantId, String scope, String key, String instanceId) {}

    /** From the lab's trigger, where it was installed: every claim that ever was. */
    record Claim(String tenantId, String instanceId, long claimEpoch, String claimNonce, @Nullable String claimNode, Instant at) {
        RunKey run() {
            return new RunKey(tenantId, instanceId);
        }
    }

    /**
     * One line of the provider's ledger ({@code LedgerEntry} of waybill-test).
     *
     * @param kind      delivery, apply or answer
     * @param seenState what the provider itself saw of the receipt over its own connection before it answered, or {@code db_down}
     */
    record Line(
            long seq, Instant at, String kind, long delivery, @Nullable String method, @Nullable String path, @Nullable String effectId,
            @Nullable String idempotencyKey, @Nullable String content, tools.jackson.databind.@Nullable JsonNode answer,
            @Nullable String fault, @Nullable String seenState) {
        Line {
            Objects.requireNonNull(at, "at");
        }

        boolean delivered() {
            return kind.equals("delivery");
        }

        boolean applied() {
            return kind.equals("apply");
        }

        boolean answered() {
            return kind.equals("answer");
        }
    }

    /**
     * What a client asked and what it was told.
     *
     * @param op       start, signal or resolve
     * @param result   ok, fail (definitely not) or info (nobody knows)
     * @param at       when it asked
     * @param answered when it was told
     * @param id       the run: of the answer to a start, else the one asked for
     * @param signal   cancel, pause, resume, retry
     * @param effect   the receipt that was resolved
     * @param state    what it was resolved to
     */
    record Call(
            String op, String result, Instant at, @Nullable Instant answered, @Nullable String tenant, @Nullable String id,
            @Nullable String key, @Nullable String signal, @Nullable String effect, @Nullable String state, @Nullable Long delayMs) {
        Call {
            Objects.requireNonNull(at, "at");
        }

        boolean ok() {
            return result.equals("ok");
        }

        String tenantOrDefault() {
            return tenant == null ? "default" : tenant;
        }

        Instant end() {
            return answered == null ? at : answered;
        }
    }

    /**
     * What was done to the system.
     *
     * @param kind  kill, stop, cut, store, drain .. or calm: from here on nothing more is done
     * @param until when it was over (the frozen process goes on, the drained one has ended); null = at once
     * @param node  name of the node it struck; null = all of them (the store, the network)
     */
    record Fault(Instant at, @Nullable Instant until, String kind, @Nullable String node) {
        Fault {
            Objects.requireNonNull(at, "at");
        }

        Instant end() {
            return until == null ? at : until;
        }
    }
}

package dev.waybill.lab.mutants;

import java.util.List;

/** Rules of the turn, the committer, recovery, the desks and the transport. */
final class EngineMutants {
    private EngineMutants() {}

    static List<Mutant> all() {
        return List.of(
                Mutant.of("retry-after-timeout", "Unknown is never retried by itself: a timeout is not a no (the seed's protocol).")
                        .with(
                                "engine.Settlement#settle",
                                """
                                case Outcome.Unknown unknown -> row.make(
                                        EffectState.UNKNOWN, null, unknown.reason(), unknown.message(), null, null, true, unknown.reply(), null,
                                        OutputState.NONE, null);""",
                                """
                                case Outcome.Unknown unknown -> notApplied(
                                        step, ready, attempts, row,
                                        new Outcome.NotApplied(
                                                Proof.NOT_SENT, Problem.retryable("STEP_TIMEOUT", unknown.message()), null, unknown.reply()),
                                        earlierUnknown, random);""")
                        .killedBy("engine.UnknownOutcomeTest"),
                Mutant.of("crash-means-not-sent", "A dispatched receipt of a dead claim becomes unknown.")
                        .with(
                                "engine.Settlement#crashed",
                                """
                                EffectState.UNKNOWN, null, "crash", "the engine that sent it died or lost its claim before the answer was stored",
                                null, null, true,""",
                                """
                                EffectState.NOT_APPLIED, Proof.NOT_SENT, "crash", "the engine that sent it died before it could",
                                null, 0L, false,""")
                        .killedBy("lab.crash.KillNineTest"),
                Mutant.of("unknown-dispatched-again", "Nothing ever leads back to dispatched.")
                        .with(
                                "engine.Evaluator#unknown",
                                "decision.waiting.add(new Waiting(\"effect_unknown\", path, receipt, person.dueInMillis(), \"person\"));",
                                "ready(step, path, place, attempt, unknown.newest().receipt);")
                        .with(
                                "engine.Turn#commit",
                                "List<ReceiptRow> receipts = intents.stream().map(Opened::receipt).toList();",
                                """
                                List<ReceiptRow> receipts = intents.stream()
                                        .map(Opened::receipt)
                                        .filter(receipt -> current(new Attempt(receipt, null)) == null)
                                        .toList();
                                for (Opened opened : intents) {
                                    Attempt known = current(new Attempt(opened.receipt(), null));
                                    if (known != null) {
                                        sent.settle(new dev.waybill.store.JournalRow(
                                                known.receipt.path(), known.receipt.attempt(), known.nextN(), known.state(), EffectState.DISPATCHED,
                                                "engine", state.claim, sent.transitionId, null, "again", null, null, null, true, null, null,
                                                dev.waybill.store.JournalRow.OutputState.NONE, null, null));
                                    }
                                }""")
                        .with(
                                "engine.Turn#settled",
                                "if (answer.intents() != IntentAnswer.DISPATCHED) {",
                                "if (answer.intents() != IntentAnswer.DISPATCHED && answer.intents() != IntentAnswer.NONE) {")
                        .with(
                                "engine.Turn#started",
                                "state.apply(opened.receipt());",
                                "if (current(new Attempt(opened.receipt(), null)) == null) { state.apply(opened.receipt()); }")
                        .killedBy("engine.UnknownOutcomeTest"),
                Mutant.of("epoch-in-receipt-id", "The epoch is not identity: a takeover must still find the receipt.")
                        .with(
                                "engine.EffectGuard#receipt",
                                "ReceiptId.of(state.execution, state.key.id(), ready.path(), ready.attempt());",
                                "ReceiptId.of(state.execution, state.key.id(), ready.path() + \"@\" + state.claim.epoch(), ready.attempt());")
                        .with(
                                "engine.RunState#brokenIdentity",
                                "!ReceiptId.of(execution, key.id(), r.path(), r.attempt()).equals(r.id())",
                                "!ReceiptId.of(execution, key.id(), r.path() + \"@\" + r.claim().epoch(), r.attempt()).equals(r.id())")
                        .killedBy("engine.IdentityTest#aReceiptsIdIsThatOfItsPlaceWhateverTheEpoch"),
                Mutant.of("key-includes-attempt", "Retries of one effect carry the same idempotency key.")
                        .with(
                                "engine.EffectGuard#resolve",
                                "return new Resolved(frozen, copy.idempotencyKey(), timeout(step, frozen));",
                                """
                                String own = copy.idempotencyKey();
                                return new Resolved(frozen, own == null ? null : own + "-" + ready.attempt(), timeout(step, frozen));""")
                        .with(
                                "engine.EffectGuard#receipt",
                                "copy.destinationFingerprint(), copy.idempotencyKey(), copy.requestSha256(),",
                                "copy.destinationFingerprint(), resolved.key(), copy.requestSha256(),")
                        .killedBy("engine.IdentityTest#everyAttemptCarriesTheSameKey"),
                Mutant.of("hash-includes-secret", "The request hash is over params without secrets: rotating a token must not change it.")
                        .with(
                                "engine.EffectGuard#receipt",
                                "resolved.key(), Fingerprints.requestSha256(params),",
                                """
                                resolved.key(),
                                Fingerprints.requestSha256(dev.waybill.json.SecretText.reveal(params, state.key.tenant(), engine.secrets())),""")
                        .killedBy("engine.IdentityTest#aRotatedSecretIsTheSameRequest"),
                Mutant.of("send-before-intent", "The intent is durable before a byte leaves.")
                        .with(
                                "engine.Turn#commit",
                                "CommitAnswer answer; try { answer = engine.committer().submit(commit).join();",
                                """
                                started(
                                        new CommitAnswer.Settled(
                                                IntentAnswer.DISPATCHED, ReleaseAnswer.NONE, 0, false, false, false, java.time.Instant.EPOCH),
                                        intents, late);
                                CommitAnswer answer;
                                try {
                                    answer = engine.committer().submit(commit).join();""")
                        .with("engine.Turn#settled", "started(answer, intents, late);", "")
                        .killedBy("lab.crash.KillNineTest"),
                Mutant.of("last-look-off", "A send deadline that has passed aborts with zero bytes sent.")
                        .with(
                                "engine.Calls#lastLook",
                                "return monotonic > sendDeadline.toNanos() || Math.abs(walled - monotonic) > CLOCK_JUMP_NANOS;",
                                "return false;")
                        .killedBy("lab.crash.TwoEnginesTest"),
                Mutant.of("output-in-own-transaction", "Receipt, output and the instance's move commit together.")
                        .with(
                                "engine.Turn#commit",
                                "answer = engine.committer().submit(commit).join();",
                                "answer = apart(commit);")
                        .with(
                                "engine.Turn#settled",
                                "/** The intents that are durable: send now. */",
                                """
                                private CommitAnswer apart(Commit whole) {
                                    List<dev.waybill.store.JournalRow> bare = new ArrayList<>();
                                    List<BlockRow> rows = new ArrayList<>(whole.rows());
                                    for (var row : whole.settles()) {
                                        if (row.output() == null) {
                                            bare.add(row);
                                            continue;
                                        }
                                        bare.add(new dev.waybill.store.JournalRow(
                                                row.path(), row.attempt(), row.n(), row.from(), row.to(), row.actor(), row.claim(), row.transitionId(),
                                                row.proof(), row.reason(), row.message(), row.providerReceiptId(), row.retryInMillis(),
                                                row.countsAsAttempt(), row.reply(), null, dev.waybill.store.JournalRow.OutputState.NONE, row.problem(),
                                                null));
                                        rows.add(new BlockRow(
                                                row.path(), state.nextN(row.path()), BlockRow.Kind.OUTPUT, row.output(), null, whole.transitionId(), null));
                                    }
                                    if (rows.size() == whole.rows().size()) {
                                        return engine.committer().submit(whole).join();
                                    }
                                    CommitAnswer first = engine.committer().submit(new Commit(
                                            whole.instance(), whole.claim(), engine.ids().get(), bare, List.of(), List.of(), List.of(), null,
                                            whole.resetTakeover())).join();
                                    return !(first instanceof CommitAnswer.Settled)
                                            ? first
                                            : engine.committer().submit(new Commit(
                                                    whole.instance(), whole.claim(), whole.transitionId(), List.of(), rows, whole.intents(), whole.events(),
                                                    whole.release(), false)).join();
                                }

                                /** The intents that are durable: send now. */""")
                        .killedBy("lab.crash.KillNineTest"),
                Mutant.of("unclear-commit-is-no", "An unclear COMMIT is neither yes nor no: the identical batch is submitted again.")
                        .with(
                                "engine.Committer#write",
                                "again = true; ledger.suspect();",
                                """
                                if (!closing) {
                                    return batch.stream().map(one -> (CommitAnswer) new CommitAnswer.Conflict("unclear")).toList();
                                }
                                again = true;
                                ledger.suspect();""")
                        .killedBy("lab.crash.UnclearCommitTest"),
                Mutant.of("unclear-commit-new-id", "An unclear COMMIT is repeated with the same transition id.")
                        .with(
                                "engine.Committer#write",
                                "again = true; ledger.suspect();",
                                """
                                again = true;
                                batch = batch.stream()
                                        .map(one -> new Commit(
                                                one.instance(), one.claim(), new UUID(System.nanoTime(), one.transitionId().getLeastSignificantBits()),
                                                one.settles(), one.rows(), one.intents(), one.events(), one.release(), one.resetTakeover()))
                                        .toList();
                                ledger.suspect();""")
                        .killedBy("lab.crash.UnclearCommitTest"),
                Mutant.of("ledger-not-compared", "After a reconnect the receipts this node remembers are compared with the database.")
                        .with("engine.Ledger#checkIfSuspect", "if (!suspect) { return; }", "if (!suspect || store != null) { return; }")
                        .killedBy("engine.LedgerTest"),
                Mutant.of("late-answer-dropped", "A first-hand answer that arrives after the claim is lost is never thrown away.")
                        .with("engine.LateTruth#record", "long pause = PAUSE_NANOS; while (true) {", "long pause = PAUSE_NANOS; while (closing) {")
                        .killedBy("lab.crash.TwoEnginesTest#aFrozenOwnersLateAnswerSettlesAndWhatItHadNotSentItDoesNotSendAnyMore"),
                Mutant.of("cancel-ends-at-once", "No instance is terminal while it has a dispatched receipt.")
                        .with(
                                "engine.Turn#step",
                                "if (!inFlight.isEmpty()) { return draft.isEmpty()",
                                "if (!inFlight.isEmpty() && !state.cancelRequested) { return draft.isEmpty()")
                        .killedBy("engine.ControlFlowTest"),
                Mutant.of("join-waits-for-one", "A join waits for every branch.")
                        .with(
                                "engine.Evaluator#parallel",
                                "boolean pending = false; int undoing = decision.undoing; List<Failure> failures = new ArrayList<>(); for (List<Block> branch",
                                "boolean pending = false; boolean done = false; int undoing = decision.undoing; List<Failure> failures = new ArrayList<>(); for (List<Block> branch")
                        .with(
                                "engine.Evaluator#parallel",
                                "case Status.Done() -> {} case Status.Pending() -> pending = true;",
                                "case Status.Done() -> done = true; case Status.Pending() -> pending = true;")
                        .with("engine.Evaluator#parallel", "return joined(pending, undoing, failures, place);", "return joined(pending && !done, undoing, failures, place);")
                        .killedBy("engine.ControlFlowTest"),
                Mutant.of("timer-by-node-clock", "Due times are the database's: a node's clock decides none.")
                        .with(
                                "engine.RunState#now",
                                "return databaseNow.plusNanos(host.nanoTime() - readAtNanos);",
                                "return wall == null ? databaseNow.plusNanos(host.nanoTime() - readAtNanos) : wall.instant();")
                        .with("engine.RunState#RunState", "boolean cancelRequested;", "java.time.@Nullable InstantSource wall; boolean cancelRequested;")
                        .with(
                                "engine.Turn#read",
                                "return new RunState( engine.host(), loaded.sequence(), snapshot, EngineJson.read(snapshot.instance().context()), EngineJson::read);",
                                """
                                RunState fresh = new RunState(
                                        engine.host(), loaded.sequence(), snapshot, EngineJson.read(snapshot.instance().context()), EngineJson::read);
                                fresh.wall = wall;
                                return fresh;""")
                        .killedBy("engine.IdentityTest#aDelayIsTheDatabasesWhateverThisNodesClockSays"),
                Mutant.of("drain-exits-early", "SIGTERM drains: nothing of ours is left dispatched.")
                        .with(
                                "engine.Scheduler#drain",
                                "long until = drainDeadlineNanos + TimeUnit.SECONDS.toNanos(10);",
                                "long until = System.nanoTime();")
                        .killedBy("lab.crash.DrainTest"),
                Mutant.of("dead-nodes-not-swept", "A dead node is fenced and its claims are freed: nothing stays running without a live lease.")
                        .with("engine.Scheduler#sweep", "freed = engine.store().fenceAndFree(MAX_FREE);", "freed = 0;")
                        .killedBy("lab.crash.TwoEnginesTest"),
                Mutant.of("verify-too-early", "An absence counts only after quiet_at: the request may still arrive.")
                        .with("engine.Healing#after", "if (quiet == null || askedAt.isBefore(quiet)) {", "if (quiet == null) {")
                        .killedBy("engine.VerifierTest"),
                Mutant.of("resend-outside-window", "Nothing is sent again once the destination may have forgotten the key.")
                        .with(
                                "engine.Healing#again",
                                "return due < left ? new Next.Again(due, newest.receipt)",
                                "return due < left || left < Long.MAX_VALUE ? new Next.Again(due, newest.receipt)")
                        .killedBy("engine.ResendTest"),
                Mutant.of("resend-before-quiet", "A resend waits until no packet of the one before it can still arrive.")
                        .with("engine.Healing#again", "long due = quietInMillis(members, state);", "long due = 0;")
                        .killedBy("engine.ResendTest"),
                Mutant.of("verdict-before-quiet", "Resend before quiet_at is refused: the first request may still arrive.")
                        .with("operate.EffectDesk#decide", "if (unquiet != null) {", "if (unquiet != null && receipt == null) {")
                        .killedBy("engine.UnknownOutcomeTest"),
                Mutant.of("abandoned-retried-at-once", "What was abandoned is sent again only when its first request can no longer arrive.")
                        .with("operate.RunDesk#retry", "refuseBeforeQuiet(run, stopped);", "")
                        .killedBy("engine.UnknownOutcomeTest"),
                Mutant.of("resolve-does-not-wake", "Receipt, evidence, output and the instance's wake-up are one transaction.")
                        .with(
                                "operate.EffectDesk#decide",
                                "Set<InstanceState> wakeFrom = wakes(then, r, state, ended);",
                                "Set<InstanceState> wakeFrom = Set.of();")
                        .killedBy("engine.UnknownOutcomeTest"),
                Mutant.of("maybe-sent-is-not-sent", "Some bytes left and no complete status line came: unknown.")
                        .with(
                                "transport.HttpOutcome#of",
                                """
                                case MAYBE_SENT -> new Outcome.Unknown(
                                        answer.stop(),
                                        redactor.redact(subject + ": the request may have arrived, no answer came" + because(answer)),
                                        null);""",
                                "case MAYBE_SENT -> notSent(answer, subject, redactor);")
                        .killedBy("transport.HttpOutcomeTest", "engine.UnknownOutcomeTest"),
                Mutant.of("503-is-clean", "503 says nothing about whether it was done, unless the profile says so.")
                        .with("transport.HttpOutcome#meaning", "case 421, 425, 429 -> Meaning.RETRY_LATER;", "case 421, 425, 429, 503 -> Meaning.RETRY_LATER;")
                        .killedBy("transport.HttpOutcomeTest", "engine.UnknownOutcomeTest"),
                Mutant.of("recorder-says-not-sent-wrongly", "The first byte is noted before it leaves: what was not noted was not sent.")
                        .with("engine.Calls#send", "Runnable firstByte = () -> engine.recorder().firstByte(id);", "Runnable firstByte = () -> {};")
                        .killedBy("lab.crash.FlightRecorderTest"),
                Mutant.of("redirect-followed", "Redirects are never followed: a new destination is a new effect.")
                        .with(
                                "handler.HttpRequestHandler#send",
                                "WireAnswer answer = transport.send(new WireRequest(destination, method, sent, body, timeout, cap, dispatch::late, dispatch.firstByte()));",
                                """
                                WireAnswer answer = transport.send(new WireRequest(destination, method, sent, body, timeout, cap, dispatch::late, dispatch.firstByte()));
                                List<String> location = answer.headers().getOrDefault("location", List.of());
                                if (answer.status() / 100 == 3 && !location.isEmpty()) {
                                    String next = java.net.URI.create(destination.toString()).resolve(location.getFirst()).toString();
                                    if (transport.vet(next) instanceof AddressPolicy.Verdict.Allowed(Destination there)) {
                                        answer = transport.send(new WireRequest(there, method, sent, body, timeout, cap, dispatch::late, dispatch.firstByte()));
                                    }
                                }""")
                        .killedBy("engine.FieldCasesTest"));
    }
}

package dev.waybill.operate;

import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.Queries.InstanceFilter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Starts runs and steers them. Refusals are {@link dev.waybill.model.WaybillException} with a stable code. */
public interface Runs {

    /**
     * Starts a run; when this returns it is durable.
     *
     * @throws dev.waybill.model.WaybillException 404 SEQUENCE_NOT_FOUND, 422 INPUT_INVALID, 422 IDEMPOTENCY_KEY_REUSED, 400
     *     IDEMPOTENCY_KEY_INVALID, 413 CONTEXT_TOO_LARGE
     */
    Started start(StartRequest request);

    /** @throws dev.waybill.model.WaybillException 404 RUN_NOT_FOUND */
    RunView get(String tenant, UUID id);

    List<RunView> list(InstanceFilter filter);

    /** Outputs by block path. */
    Map<String, JsonNode> outputs(String tenant, UUID id);

    List<EffectView> effects(String tenant, UUID id);

    List<TreeNode> tree(String tenant, UUID id);

    /**
     * Runs a failed (or abandoned-waiting) run again from the failed step. Committed effects are reused.
     *
     * @throws dev.waybill.model.WaybillException 409 EFFECT_UNRESOLVED, 409 RUN_NOT_FAILED, 409 RUN_UNDONE
     */
    default RunView retry(String tenant, UUID id, String actor) {
        return retry(tenant, id, actor, null);
    }

    /**
     * As {@link #retry(String, UUID, String)}.
     *
     * @param idempotencyKey the same key again retries nothing and answers how the run stands now; null = none
     */
    RunView retry(String tenant, UUID id, String actor, @Nullable String idempotencyKey);

    /** Once this returns no new dispatch of the run can commit. @throws dev.waybill.model.WaybillException 409 RUN_ENDED */
    RunView pause(String tenant, UUID id, String actor);

    RunView resume(String tenant, UUID id, String actor);

    /**
     * Once this returns no new dispatch of the run can commit but what undoes its unfinished sagas; the run ends after what is in flight was
     * awaited and they are undone. Ends a pause.
     */
    RunView cancel(String tenant, UUID id, String actor);

    /**
     * Undoes what the unfinished sagas of a failed or cancelled run certainly did and still stands; the run then ends as it had, with the
     * residuals that are left. Nothing else of it runs (case A20).
     *
     * @param idempotencyKey the same key again starts nothing and answers how the run stands now; null = none
     * @throws dev.waybill.model.WaybillException 409 RUN_NOT_STOPPED, 409 NOTHING_TO_COMPENSATE, 409 EFFECT_NOT_QUIET
     */
    RunView compensate(String tenant, UUID id, String actor, @Nullable String idempotencyKey);

    /** Waits until the run is terminal or needs somebody (waiting with no due time, paused), at most {@code timeout}. */
    RunView await(String tenant, UUID id, Duration timeout);

    /** Releases every run that a restore or failover paused ({@code ledger_may_be_behind}); returns how many. */
    int acceptLedger(String actor);
}

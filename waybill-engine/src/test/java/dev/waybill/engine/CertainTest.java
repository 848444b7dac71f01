package dev.waybill.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Store;
import dev.waybill.store.UnclearCommitException;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What is said of a move whose first try was unclear. */
class CertainTest {
    private static final UnclearCommitException LOST = new UnclearCommitException("the answer was lost", new java.io.IOException("reset"));
    private static final OutsideAnswer CONFLICT = new OutsideAnswer.Conflict(InstanceState.COMPLETED, 3, "wake_seq 3");
    private static final OutsideAnswer APPLIED = new OutsideAnswer.Applied(InstanceState.SCHEDULED, 2, null);

    /** The signal resume: no row of its own. */
    private static final OutsideMove RESUME = new OutsideMove(
            new InstanceKey("default", UUID.randomUUID()), UUID.randomUUID(), 1L, Set.of(), List.of(), List.of(), List.of(), List.of(), null,
            false, Set.of(InstanceState.PAUSED), false, null, List.of(), null);

    private static Store answering(Object... answers) {
        Queue<Object> left = new ArrayDeque<>(List.of(answers));
        return (Store) Proxy.newProxyInstance(Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, arguments) -> {
            Object answer = left.remove();
            if (answer instanceof Throwable e) {
                throw e;
            }
            return answer;
        });
    }

    @Test
    void aConflictOfATryIsAConflict() {
        assertThat(Certain.outside(Host.SYSTEM, answering(CONFLICT), RESUME)).isEqualTo(CONFLICT);
    }

    @Test
    void aRepeatThatFindsItsTryIsApplied() {
        assertThat(Certain.outside(Host.SYSTEM, answering(LOST, APPLIED), RESUME)).isEqualTo(APPLIED);
    }

    /** A simulated resume was done, its answer was lost, the run went on to its end: "refused" would have been false. */
    @Test
    void aConflictThatMayHideItsOwnTryIsNoRefusal() {
        assertThatThrownBy(() -> Certain.outside(Host.SYSTEM, answering(LOST, CONFLICT), RESUME)).isSameAs(LOST);
    }
}

package dev.waybill.store;

import dev.waybill.model.InstanceState;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The owner gives its claim up. It expects the {@code wake_seq} it has seen; when somebody wrote news meanwhile, the release does
 * not happen, the rest of the commit does, and the owner reads the news and goes on (semantics.md section 4.7).
 *
 * @param to           scheduled, waiting, paused or a terminal state
 * @param fireInMillis from the database's now: when a node should look again; null = only news wakes it; without meaning for paused
 *                     and terminal states
 * @param reasons      JSON array text of {@code {reason, path, ..}} for each blocked branch, or null
 * @param outcome      JSON object text: output or error and residuals of a terminal state, or null
 * @param events       outbox rows that hold only if the release happens
 */
public record Release(
        InstanceState to,
        @Nullable Long fireInMillis,
        long expectedWakeSeq,
        @Nullable String reasons,
        @Nullable String outcome,
        List<Event> events) {}

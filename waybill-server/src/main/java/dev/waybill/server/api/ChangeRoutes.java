package dev.waybill.server.api;


import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.store.Queries;
import dev.waybill.store.Queries.Change;
import io.javalin.http.Context;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** {@code /api/v1/changes}: what happened, in commit order, by cursor or as a stream. */
final class ChangeRoutes {
    private static final int PAGE = 100;
    private static final long HEARTBEAT_NANOS = TimeUnit.SECONDS.toNanos(15);
    /** The store may hold a change back for a moment to keep the order of commits; nobody signals when it lets go. */
    private static final long REREAD_MILLIS = 2_000;

    private final Queries queries;
    private final ChangeFeed feed;

    ChangeRoutes(Backend backend, ChangeFeed feed) {
        queries = backend.queries();
        this.feed = feed;
    }

    List<Endpoint> endpoints() {
        return List.of(Endpoint.get(
                        "/api/v1/changes", "listChanges",
                        "What happened, in commit order. With Accept: text/event-stream a stream that starts now, or after Last-Event-ID.")
                .tag("changes")
                .paged()
                .header("Last-Event-ID", "streams: the id of the last event seen")
                .answers(200, "ChangeList")
                .answers(200, null, "text/event-stream")
                .refuses(503)
                .does(this::changes));
    }

    private Response changes(Call call) {
        String accept = call.context().header("Accept");
        if (accept != null && accept.contains("text/event-stream")) {
            return stream(call);
        }
        int limit = call.limit();
        String after = call.query("cursor");
        List<Change> found = changes(call.tenant(), after, limit + 1);
        ObjectNode page = Views.page(found, limit, Views::change, Change::cursor);
        // Unlike other lists this one grows at its end: the reader goes on from here even when there is no more yet.
        List<Change> shown = found.size() > limit ? found.subList(0, limit) : found;
        page.put("next_cursor", shown.isEmpty() ? after : shown.getLast().cursor());
        return Response.ok(page);
    }

    private List<Change> changes(String tenant, @Nullable String after, int limit) {
        try {
            return queries.changes(tenant, after, limit);
        } catch (IllegalArgumentException notACursor) {
            throw Call.invalid("cursor", "is not a cursor of this list");
        }
    }

    private Response stream(Call call) {
        String lastEvent = call.context().header("Last-Event-ID");
        String given = lastEvent != null && !lastEvent.isEmpty() ? lastEvent : call.query("cursor");
        String after = given != null ? given : queries.newestChange();
        // A cursor that is none is refused while there is still a status to refuse with.
        changes(call.tenant(), after, 1);
        if (!feed.enter()) {
            throw new WaybillException(
                    503, "TOO_MANY_STREAMS", "this server holds " + ChangeFeed.MAX_STREAMS + " streams already", null,
                    "poll /api/v1/changes with a cursor instead");
        }
        try {
            write(call.context(), call.tenant(), after);
        } catch (IOException gone) {
            // The client went away or did not read for the idle time: there is nobody to tell.
            return Response.STREAMED;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            feed.leave();
        }
        return Response.STREAMED;
    }

    private void write(Context context, String tenant, @Nullable String from) throws IOException, InterruptedException {
        HttpServletResponse response = context.res();
        response.setStatus(200);
        response.setContentType("text/event-stream");
        response.setCharacterEncoding("UTF-8");
        response.setHeader("Cache-Control", "no-store");
        response.setHeader("X-Accel-Buffering", "no");
        OutputStream out = response.getOutputStream();
        out.write(": waybill\n\n".getBytes(StandardCharsets.UTF_8));
        out.flush();
        String after = from;
        long seen = 0;
        long lastWrite = System.nanoTime();
        while (seen >= 0) {
            List<Change> page = queries.changes(tenant, after, PAGE);
            for (Change change : page) {
                out.write(event(change));
                after = change.cursor();
            }
            if (!page.isEmpty()) {
                lastWrite = System.nanoTime();
            } else if (System.nanoTime() - lastWrite > HEARTBEAT_NANOS) {
                out.write(": still here\n\n".getBytes(StandardCharsets.UTF_8));
                lastWrite = System.nanoTime();
            }
            out.flush();
            if (page.isEmpty()) {
                seen = feed.await(seen, REREAD_MILLIS);
            }
        }
    }

    private static byte[] event(Change change) {
        return ("id: " + change.cursor() + "\nevent: " + change.type() + "\ndata: " + Json.write(Views.change(change)) + "\n\n")
                .getBytes(StandardCharsets.UTF_8);
    }
}

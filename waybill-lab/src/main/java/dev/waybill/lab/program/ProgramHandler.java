package dev.waybill.lab.program;

import dev.waybill.handler.Dispatch;
import dev.waybill.handler.EffectHandler;
import dev.waybill.handler.StepRequest;
import dev.waybill.json.Redactor;
import dev.waybill.lab.program.ScriptedProvider.Request;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Proof;
import dev.waybill.transport.HttpOutcome;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import tools.jackson.databind.JsonNode;

/** {@code http_request} without a network: the scripted provider's answers, read by the engine's own table of outcomes. */
public final class ProgramHandler implements EffectHandler {
    /** The name it is registered under. */
    public static final String NAME = "lab_request";

    private final ScriptedProvider provider;
    private final InstantSource clock;
    private final LongSupplier pauseNanos;

    /** @param pauseNanos how long a request takes, drawn for each */
    public ProgramHandler(ScriptedProvider provider, InstantSource clock, LongSupplier pauseNanos) {
        this.provider = provider;
        this.clock = clock;
        this.pauseNanos = pauseNanos;
    }

    @Override
    public boolean readOnly(JsonNode params) {
        return params.path("read").asBoolean(false);
    }

    @Override
    public Preparation prepare(StepRequest request) {
        JsonNode params = request.params();
        boolean reads = readOnly(params);
        String run = reads ? query(params, "run") : params.path("body").path("run").asString("");
        String at = reads ? query(params, "at") : params.path("body").path("at").asString("");
        return new Preparation.Ready(dispatch -> send(request, run, at, dispatch));
    }

    private static String query(JsonNode params, String name) {
        String url = params.path("url").asString("");
        for (String pair : url.substring(url.indexOf('?') + 1).split("&")) {
            if (pair.startsWith(name + "=")) {
                return URLDecoder.decode(pair.substring(name.length() + 1), StandardCharsets.UTF_8);
            }
        }
        return "";
    }

    private Outcome send(StepRequest request, String run, String at, Dispatch dispatch) {
        if (!dispatch.path().equals(at)) {
            throw new IllegalStateException("the request of " + dispatch.path() + " says it is at " + at);
        }
        if (dispatch.late()) {
            Problem late = Problem.retryable(HttpOutcome.SEND_DEADLINE_PASSED, "late: nothing was sent");
            return new Outcome.NotApplied(Proof.NOT_SENT, late, null, null);
        }
        Request arrived = provider.arrives(run, at, dispatch.receiptId());
        long pause = pauseNanos.getAsLong();
        if (pause > 0) {
            LockSupport.parkNanos(pause);
        }
        provider.ends(arrived);
        return HttpOutcome.of(
                provider.answer(arrived), "POST lab", request.statusMap(), dispatch.earlierUnknown(), request.maxReplyBytes(), Redactor.NONE,
                clock.instant());
    }
}

package dev.waybill.server.webhook;

import dev.waybill.store.WebhookStore.WebhookEndpoint;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.Destination;
import dev.waybill.transport.HttpTransport;
import dev.waybill.transport.WireAnswer;
import dev.waybill.transport.WireRequest;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One attempt: over the client of http_request, so redirects are not followed and the address is vetted anew and pinned each time. */
final class Delivery {
    static final Duration TIMEOUT = Duration.ofSeconds(15);
    private static final int MAX_REPLY_BYTES = 4 * 1024;

    private final HttpTransport transport;
    private final InstantSource clock;

    Delivery(HttpTransport transport, InstantSource clock) {
        this.transport = transport;
        this.clock = clock;
    }

    /**
     * @param status null when no answer came
     * @param error  null: taken (any 2xx)
     */
    public record Result(@Nullable Integer status, @Nullable String error) {
        /** 410: the receiver wants no more (Standard Webhooks, "Gone"). */
        boolean gone() {
            return status != null && status == 410;
        }
    }

    Result send(WebhookEndpoint endpoint, String id, byte[] body) {
        return switch (transport.vet(endpoint.url())) {
            case AddressPolicy.Verdict.Refused refused -> new Result(null, refused.problem().message());
            case AddressPolicy.Verdict.Allowed(Destination destination) -> send(endpoint, destination, id, body);
        };
    }

    private Result send(WebhookEndpoint endpoint, Destination destination, String id, byte[] body) {
        Instant now = clock.instant();
        List<String> secrets = new ArrayList<>(List.of(endpoint.secret()));
        if (endpoint.previousSecret() != null && endpoint.previousUntil() != null && now.isBefore(endpoint.previousUntil())) {
            secrets.add(endpoint.previousSecret());
        }
        WireAnswer answer = transport.send(new WireRequest(
                destination, "POST", StandardWebhook.headers(id, now, body, secrets), body, TIMEOUT, MAX_REPLY_BYTES, () -> false, () -> {}));
        if (answer.phase() != WireAnswer.Phase.ANSWERED) {
            return new Result(null, answer.cause().isEmpty() ? answer.stop() : answer.stop() + ": " + answer.cause());
        }
        return new Result(answer.status(), answer.status() / 100 == 2 ? null : "answered " + answer.status());
    }
}

package dev.waybill.handler;

import dev.waybill.handler.EffectHandler.Preparation;
import dev.waybill.json.Json;
import dev.waybill.json.SecretSource;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.FaultServer;
import dev.waybill.transport.HttpTransport;
import dev.waybill.transport.Resolver;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import tools.jackson.databind.JsonNode;

/** Calls http_request as the engine does, and notes every address that was dialled. */
final class HttpCalls {
    static final Instant NOW = Instant.parse("2026-11-30T12:00:00Z");
    static final UUID RECEIPT = UUID.fromString("00000000-0000-8000-8000-000000000001");

    final List<InetSocketAddress> dialled = new CopyOnWriteArrayList<>();
    final HttpRequestHandler handler;
    SecretSource secrets = SecretSource.NONE;
    Map<Integer, String> statusMap = Map.of();
    Duration timeout = Duration.ofSeconds(20);
    int maxReplyBytes = 10 * 1024 * 1024;
    String key;
    String keyHeader;
    boolean earlierUnknown;
    BooleanSupplier late = () -> false;

    HttpCalls(AddressPolicy policy, Resolver resolver) {
        HttpTransport transport = new HttpTransport(policy, resolver, HttpTransport.Tls.system(), dialled::add);
        handler = new HttpRequestHandler(transport, InstantSource.fixed(NOW));
    }

    static HttpCalls to(FaultServer... servers) {
        AddressPolicy policy = AddressPolicy.publicOnly();
        for (FaultServer server : servers) policy = policy.allow(server.hostPort());
        return new HttpCalls(policy, Resolver.SYSTEM);
    }

    HttpCalls secret(String name, String value) {
        secrets = (tenant, asked) -> asked.equals(name) ? Optional.of(value) : Optional.empty();
        return this;
    }

    StepRequest request(JsonNode params) {
        return new StepRequest(params, key, keyHeader, statusMap, "t", secrets, timeout, maxReplyBytes);
    }

    Preparation prepare(String params) {
        return handler.prepare(request(Json.parse(params)));
    }

    Problem refused(String params) {
        return ((Preparation.Refused) prepare(params)).problem();
    }

    Outcome call(String params) {
        return send(((Preparation.Ready) prepare(params)).call());
    }

    Outcome send(EffectHandler.EffectCall call) {
        try {
            return call.send(new Dispatch(RECEIPT, new InstanceKey("t", new UUID(0, 1)), "charge", 0, key, earlierUnknown, late));
        } catch (InterruptedException e) {
            throw new AssertionError("the transport answers an interrupt with an outcome", e);
        }
    }

    /** The default step of the field cases: a POST of {@code {"amount":5}}. */
    static String post(String url) {
        return "{\"url\":" + Json.write(Json.NODES.stringNode(url)) + ",\"method\":\"POST\",\"body\":{\"amount\":5}}";
    }

    <T extends Outcome> T charge(FaultServer server, Class<T> type) {
        return type.cast(call(post(server.url("/charge"))));
    }
}

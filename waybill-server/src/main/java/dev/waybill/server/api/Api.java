package dev.waybill.server.api;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.server.ApiKeys;
import dev.waybill.server.Nearest;
import dev.waybill.server.api.Endpoint.Access;
import dev.waybill.server.api.Endpoint.Parameter;
import io.javalin.Javalin;
import io.javalin.compression.CompressionStrategy;
import io.javalin.config.JavalinConfig;
import io.javalin.http.Context;
import io.javalin.http.HandlerType;
import io.javalin.http.HttpResponseException;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.ServerConnector;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** The HTTP side of the server: one registry of {@link Endpoint}s on Javalin, virtual threads, problem+json for everything else. */
public final class Api implements AutoCloseable {
    private static final int MAX_HEADER_BYTES = 16 * 1024;
    /** A stalled read or write ends after this long: it is what cuts a slow client. */
    private static final long IDLE_MILLIS = 30_000;
    private static final long STOP_MILLIS = 5_000;
    private static final Pattern BROKEN_ESCAPE = Pattern.compile("%(?![0-9a-fA-F]{2})");
    private static final Set<String> ALWAYS_ALLOWED = Set.of("tenant_id");

    private final ApiKeys keys;
    private final boolean loopbackOnly;
    private final Schemas schemas = new Schemas();
    private final Body bodies = new Body(schemas);
    private final ChangeFeed feed;
    private final List<Endpoint> endpoints;
    private final ObjectNode document;
    private @Nullable Javalin javalin;
    private volatile boolean draining;

    /**
     * @param loopbackOnly no keys are asked for: only requests that name this machine are answered, so that a web page cannot reach
     *     the API under a name of its own (DNS rebinding)
     * @param metrics      Prometheus text, gathered when asked
     */
    public Api(Backend backend, ApiKeys keys, boolean loopbackOnly, InstantSource clock, Supplier<String> metrics, String version) {
        this.keys = keys;
        this.loopbackOnly = loopbackOnly;
        feed = new ChangeFeed(backend);
        List<Endpoint> all = new ArrayList<>();
        all.addAll(new SystemRoutes(backend, metrics, version, this::document).endpoints());
        all.addAll(new SequenceRoutes(backend).endpoints());
        all.addAll(new InvariantRoutes(backend).endpoints());
        all.addAll(new RunRoutes(backend, clock).endpoints());
        EffectRoutes effects = new EffectRoutes(backend, clock);
        all.addAll(effects.endpoints());
        all.addAll(new EvidenceRoutes(backend, effects::receipt).endpoints());
        all.addAll(new ExportRoutes(backend, effects::receipt).endpoints());
        all.addAll(new StatementRoutes(backend).endpoints());
        all.addAll(new DestinationRoutes(backend).endpoints());
        all.addAll(new ChangeRoutes(backend, feed).endpoints());
        all.addAll(new WebhookRoutes(backend.webhooks()).endpoints());
        endpoints = List.copyOf(all);
        document = OpenApi.document(endpoints, schemas, version);
    }

    public List<Endpoint> endpoints() {
        return endpoints;
    }

    /** The OpenAPI document. */
    public ObjectNode document() {
        return document;
    }

    /** Listens; port 0 takes any free one. */
    public Api start(String host, int port) {
        feed.start();
        javalin = Javalin.create(config -> configure(config, host, port)).start();
        return this;
    }

    /** @throws IllegalStateException before {@link #start} */
    public int port() {
        if (javalin == null) {
            throw new IllegalStateException("not started");
        }
        return javalin.port();
    }

    /** Ends the streams; from now on whatever fails because the engine is going is 503, not a fault of this server. */
    public void drain() {
        draining = true;
        feed.close();
    }

    /** Lets requests in flight finish for a moment and stops listening. */
    @Override
    public void close() {
        drain();
        if (javalin != null) {
            javalin.stop();
        }
    }

    private void configure(JavalinConfig config, String host, int port) {
        config.concurrency.useVirtualThreads = true;
        config.startup.showJavalinBanner = false;
        config.startup.showOldJavalinVersionWarning = false;
        config.startup.startupWatcherEnabled = false;
        config.http.prefer405over404 = true;
        config.http.maxRequestSize = Body.MAX_BYTES;
        config.http.compressionStrategy = CompressionStrategy.NONE;
        config.http.defaultContentType = "application/json";
        config.jetty.modifyHttpConfiguration(http -> {
            http.setSendServerVersion(false);
            http.setRequestHeaderSize(MAX_HEADER_BYTES);
        });
        config.jetty.modifyServer(server -> {
            server.setErrorHandler(new JettyErrors());
            server.setStopTimeout(STOP_MILLIS);
        });
        config.jetty.addConnector((server, http) -> {
            // A connector of our own, for the idle time alone; Javalin's host and port do not reach it.
            ServerConnector connector = new ServerConnector(server, new HttpConnectionFactory((HttpConfiguration) http));
            connector.setHost(host);
            connector.setPort(port);
            connector.setIdleTimeout(IDLE_MILLIS);
            return connector;
        });
        config.routes.before(Api::commonHeaders);
        for (Endpoint endpoint : endpoints) {
            config.routes.addEndpoint(new io.javalin.router.Endpoint(
                    HandlerType.findOrCreate(endpoint.method), endpoint.path, context -> answer(endpoint, context)));
        }
        // Javalin has a handler of its own for its refusals; the nearest class wins, so ours must name it.
        config.routes.exception(HttpResponseException.class, (exception, context) -> refuse(context, Problems.of(exception)));
        config.routes.exception(Exception.class, (exception, context) -> refuse(context, Problems.of(exception)));
    }

    private static void commonHeaders(Context context) {
        context.header("X-Content-Type-Options", "nosniff");
        context.header("Cache-Control", "no-store");
    }

    private void answer(Endpoint endpoint, Context context) {
        Response response;
        try {
            refuseForeignPages(context);
            Caller caller = Caller.of(context, keys, endpoint.access);
            checkParameters(endpoint, context);
            response = endpoint.action.answer(new Call(context, endpoint, bodies, forTenantParameter(endpoint, context, caller)));
        } catch (RuntimeException e) {
            refuse(context, draining && !(e instanceof WaybillException) ? Problems.ofStatus(503, null) : Problems.of(e));
            return;
        }
        if (!response.streamed()) {
            response.headers().forEach(context::header);
            context.status(response.status()).contentType(response.contentType()).result(response.body());
        }
    }

    /** The older wire names the tenant in the query as well. */
    private static Caller forTenantParameter(Endpoint endpoint, Context context, Caller caller) {
        String tenant = endpoint.access == Access.TENANT ? context.queryParam("tenant_id") : null;
        return tenant == null ? caller : new Caller(caller.actor(), caller.bound(), caller.tenantNamed(tenant, null));
    }

    /** A misspelt filter that is ignored answers another question than the one that was asked. */
    private static void checkParameters(Endpoint endpoint, Context context) {
        String query = context.queryString();
        if (query != null && BROKEN_ESCAPE.matcher(query).find()) {
            throw WaybillException.badRequest("INVALID_PARAMETER", "the query holds a % that is not followed by two hex digits", null);
        }
        for (String name : context.queryParamMap().keySet()) {
            if (!ALWAYS_ALLOWED.contains(name) && endpoint.parameters.stream().noneMatch(p -> matches(p, name))) {
                List<String> known = endpoint.parameters.stream().filter(p -> !p.header()).map(Parameter::name).toList();
                throw WaybillException.badRequest(
                        "UNKNOWN_PARAMETER", printable(name) + " is not a parameter of this path" + Nearest.hint(name, known), null);
            }
        }
    }

    private static boolean matches(Parameter parameter, String name) {
        if (parameter.header()) {
            return false;
        }
        String known = parameter.name();
        return known.endsWith(".*")
                ? name.startsWith(known.substring(0, known.length() - 1)) && name.length() >= known.length()
                : known.equals(name);
    }

    private static String printable(String text) {
        String clean = text.replaceAll("[^\\x20-\\x7e]", "?");
        return clean.length() > 64 ? clean.substring(0, 64) + ".." : clean;
    }

    /** There is no CORS: a page of another origin may not even cause a request that changes something. */
    private void refuseForeignPages(Context context) {
        String host = context.header("Host");
        String origin = context.header("Origin");
        if (origin != null && !authority(origin).equalsIgnoreCase(String.valueOf(host))) {
            throw new WaybillException(403, "ORIGIN_FORBIDDEN", "pages of another origin may not use this API");
        }
        if (loopbackOnly && host != null && !isLoopbackName(host)) {
            throw new WaybillException(
                    403, "HOST_FORBIDDEN", "without keys this server answers only under localhost, 127.0.0.1 or [::1]", null,
                    "use http://127.0.0.1, or configure a key");
        }
    }

    private static String authority(String origin) {
        try {
            String authority = URI.create(origin).getRawAuthority();
            return authority == null ? "" : authority;
        } catch (IllegalArgumentException e) {
            return "";
        }
    }

    private static boolean isLoopbackName(String host) {
        String name = host.replaceFirst(":\\d+$", "").toLowerCase(Locale.ROOT);
        return name.equals("localhost") || name.equals("[::1]") || name.matches("127(\\.\\d{1,3}){3}");
    }

    private static void refuse(Context context, WaybillException problem) {
        if (context.res().isCommitted()) {
            return;
        }
        readToTheEnd(context);
        commonHeaders(context);
        if (problem.status() == 503) {
            context.header("Retry-After", "1");
        }
        if (problem.status() == 401) {
            context.header("WWW-Authenticate", "Bearer");
        }
        context.status(problem.status())
                .contentType(Problems.CONTENT_TYPE)
                .result(Json.writeBytes(Problems.json(problem)));
    }

    /** A body that nobody read costs the connection, and with it the caller's next request on it. */
    private static void readToTheEnd(Context context) {
        try {
            context.req().getInputStream().skipNBytes(Body.MAX_BYTES);
        } catch (IOException | IllegalStateException e) {
            // It ended, or the caller is gone: there is nothing left to read either way.
            return;
        }
    }

    /** What Jetty refuses before there is a route: malformed requests, headers beyond the limit. */
    private static final class JettyErrors extends org.eclipse.jetty.server.handler.ErrorHandler {
        @Override
        public boolean handle(
                org.eclipse.jetty.server.Request request,
                org.eclipse.jetty.server.Response response,
                org.eclipse.jetty.util.Callback callback) {
            int status = response.getStatus() >= 400 ? response.getStatus() : 500;
            byte[] body = body(status);
            response.getHeaders().put("Content-Type", Problems.CONTENT_TYPE);
            response.getHeaders().put("X-Content-Type-Options", "nosniff");
            // Jetty closes after a message it could not read; a caller that is not told loses its next request.
            response.getHeaders().put("Connection", "close");
            response.getHeaders().put("Content-Length", body.length);
            org.eclipse.jetty.io.Content.Sink.write(
                    response, true, new String(body, StandardCharsets.UTF_8), callback);
            return true;
        }

        @Override
        public java.nio.@Nullable ByteBuffer badMessageError(
                int status, @Nullable String reason, org.eclipse.jetty.http.HttpFields.Mutable fields) {
            fields.put("Content-Type", Problems.CONTENT_TYPE);
            fields.put("Connection", "close");
            return java.nio.ByteBuffer.wrap(body(status));
        }

        private static byte[] body(int status) {
            return Json.writeBytes(Problems.json(Problems.ofStatus(status, null)));
        }
    }
}

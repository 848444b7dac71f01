package dev.waybill.server.api;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One route: mounted from here, checked from here and documented from here, so that the three cannot drift apart. Read it as a
 * sentence: {@code get("/api/v1/x/{id}", "getX", "One x.").tag("x").answers(200, "X").refuses(404).does(this::get)}.
 */
public final class Endpoint {
    /** Who may call. */
    public enum Access {
        /** Anybody: health and the document. */
        OPEN,
        /** Any key, for its tenant. */
        TENANT,
        /** A key that is not bound to one tenant: what it tells or does concerns the whole server. */
        OPERATOR
    }

    /** What the route does; its exceptions become problem+json. */
    @FunctionalInterface
    interface Action {
        Response answer(Call call);
    }

    enum Type {
        STRING,
        UUID,
        INTEGER,
        TIME
    }

    /**
     * A query parameter or a header.
     *
     * @param name   a query name that ends in {@code .*} stands for every name with that prefix
     * @param header true: a header
     */
    record Parameter(String name, boolean header, Type type, boolean required, String description) {}

    record Answer(int status, @Nullable String schema, String mediaType) {}

    final String method;
    final String path;
    final String operationId;
    final String summary;
    String tag = "server";
    Access access = Access.TENANT;
    final List<Parameter> parameters = new ArrayList<>();
    @Nullable String bodySchema;
    boolean bodyOptional;
    boolean yaml;
    int maxBytes = Body.MAX_BYTES;
    final List<Answer> answers = new ArrayList<>();
    final List<Integer> refusals = new ArrayList<>();
    Action action = _ -> {
        throw new IllegalStateException("an endpoint without an action");
    };

    private Endpoint(String method, String path, String operationId, String summary) {
        this.method = method;
        this.path = path;
        this.operationId = operationId;
        this.summary = summary;
    }

    static Endpoint get(String path, String operationId, String summary) {
        return new Endpoint("GET", path, operationId, summary);
    }

    static Endpoint post(String path, String operationId, String summary) {
        return new Endpoint("POST", path, operationId, summary);
    }

    Endpoint tag(String tag) {
        this.tag = tag;
        return this;
    }

    Endpoint access(Access access) {
        this.access = access;
        return this;
    }

    Endpoint query(String name, Type type, String description) {
        parameters.add(new Parameter(name, false, type, false, description));
        return this;
    }

    Endpoint required(String name, Type type, String description) {
        parameters.add(new Parameter(name, false, type, true, description));
        return this;
    }

    Endpoint header(String name, String description) {
        parameters.add(new Parameter(name, true, Type.STRING, false, description));
        return this;
    }

    /** {@code cursor}, {@code limit}: lists answer {@code {items, has_more, next_cursor}}. */
    Endpoint paged() {
        return query("cursor", Type.STRING, "next_cursor of the page before")
                .query("limit", Type.INTEGER, "items per page, 1 to " + Call.MAX_LIMIT + " (default " + Call.DEFAULT_LIMIT + ")");
    }

    Endpoint body(String schema) {
        bodySchema = schema;
        return this;
    }

    /** As {@link #body}, but an empty body will do. */
    Endpoint optionalBody(String schema) {
        bodySchema = schema;
        bodyOptional = true;
        return this;
    }

    /** Bodies beyond this are 413; default 1 MiB. */
    Endpoint maxBytes(int bytes) {
        maxBytes = bytes;
        return this;
    }

    Endpoint orYaml() {
        yaml = true;
        return this;
    }

    Endpoint answers(int status, @Nullable String schema) {
        return answers(status, schema, "application/json");
    }

    Endpoint answers(int status, @Nullable String schema, String mediaType) {
        answers.add(new Answer(status, schema, mediaType));
        return this;
    }

    Endpoint refuses(Integer... statuses) {
        refusals.addAll(List.of(statuses));
        return this;
    }

    Endpoint does(Action action) {
        this.action = action;
        return this;
    }

    public String method() {
        return method;
    }

    public String path() {
        return path;
    }

    public String operationId() {
        return operationId;
    }

    @Override
    public String toString() {
        return method + " " + path;
    }
}

package dev.waybill.server.api;

import dev.waybill.model.WaybillException;
import dev.waybill.server.ApiKeys;
import io.javalin.http.Context;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Who calls and for which tenant.
 *
 * @param bound the only tenant the key serves, or null
 * @param named the tenant of the {@code x-tenant-id} header, or null
 */
record Caller(String actor, @Nullable String bound, @Nullable String named) {
    static final String DEFAULT_TENANT = "default";
    private static final Pattern TENANT = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}");
    private static final Pattern ACTOR = Pattern.compile("[A-Za-z0-9._@-]{1,64}");

    /**
     * @throws WaybillException 401 without a good key, 403 for another tenant's, 400 for a malformed header
     */
    static Caller of(Context context, ApiKeys keys, Endpoint.Access access) {
        String who = context.header("x-actor");
        if (who != null && !ACTOR.matcher(who).matches()) {
            throw Call.invalid("x-actor", "must be 1 to 64 letters, digits or . _ @ -");
        }
        if (access == Endpoint.Access.OPEN || keys.none()) {
            return new Caller("operator:" + (who == null ? "local" : who), null, tenantHeader(context));
        }
        ApiKeys.Key key = keys.find(presented(context))
                .orElseThrow(() -> new WaybillException(
                        401, "UNAUTHORIZED", "this server asks for an API key", null,
                        "send it in the x-api-key header (CLI: --api-key or WAYBILL_API_KEY)"));
        if (access == Endpoint.Access.OPERATOR && key.tenant() != null) {
            throw new WaybillException(
                    403, "OPERATOR_KEY_REQUIRED", "this key serves the tenant " + key.tenant() + " only; this is about the whole server",
                    null, "use a key without a tenant");
        }
        String actor = "operator:" + key.name() + (who == null ? "" : "/" + who);
        Caller caller = new Caller(actor, key.tenant(), null);
        String named = tenantHeader(context);
        return named == null ? caller : new Caller(actor, key.tenant(), caller.tenantNamed(named, null));
    }

    String tenant() {
        return named != null ? named : bound != null ? bound : DEFAULT_TENANT;
    }

    /** The tenant that a header, a parameter or a document names, if this caller may speak for it. */
    String tenantNamed(String tenant, @Nullable String pointer) {
        if (!TENANT.matcher(tenant).matches()) {
            throw WaybillException.badRequest(
                    "TENANT_INVALID", "a tenant is 1 to 128 letters, digits or . _ : @ - and starts with a letter or digit", pointer);
        }
        if (named != null && !named.equals(tenant)) {
            throw WaybillException.badRequest("TENANT_MISMATCH", "two different tenants are named", pointer);
        }
        if (bound != null && !bound.equals(tenant)) {
            throw new WaybillException(403, "TENANT_FORBIDDEN", "this key serves another tenant", pointer, "use that tenant's key");
        }
        return tenant;
    }

    private static @Nullable String tenantHeader(Context context) {
        String header = context.header("x-tenant-id");
        return header == null ? null : new Caller("", null, null).tenantNamed(header, null);
    }

    /** {@code x-api-key}, or a bearer token for callers that can only do that (Prometheus). */
    private static @Nullable String presented(Context context) {
        String key = context.header("x-api-key");
        String authorization = context.header("Authorization");
        if (key == null && authorization != null && authorization.regionMatches(true, 0, "Bearer ", 0, 7)) {
            return authorization.substring(7).strip();
        }
        return key;
    }
}

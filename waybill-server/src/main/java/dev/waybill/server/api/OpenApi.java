package dev.waybill.server.api;

import dev.waybill.json.Json;
import dev.waybill.server.api.Endpoint.Access;
import dev.waybill.server.api.Endpoint.Answer;
import dev.waybill.server.api.Endpoint.Parameter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Writes the OpenAPI 3.1 document from the registry. */
final class OpenApi {
    private static final Pattern PATH_PARAMETER = Pattern.compile("\\{(\\w+)}");

    private OpenApi() {}

    static ObjectNode document(List<Endpoint> endpoints, Schemas schemas, String version) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("openapi", "3.1.0");
        json.putObject("info")
                .put("title", "Waybill")
                .put("version", version)
                .put("description", "A durable workflow engine that is honest about side effects. Every refusal is problem+json; "
                        + "its type is the path of the error's page on this server.");
        ArrayNode tags = json.putArray("tags");
        endpoints.stream().map(e -> e.tag).distinct().forEach(tag -> tags.addObject().put("name", tag));
        Map<String, ObjectNode> paths = new LinkedHashMap<>();
        for (Endpoint endpoint : endpoints) {
            paths.computeIfAbsent(endpoint.path, _ -> Json.NODES.objectNode())
                    .set(endpoint.method.toLowerCase(Locale.ROOT), operation(endpoint));
        }
        ObjectNode allPaths = json.putObject("paths");
        paths.forEach(allPaths::set);
        ObjectNode components = json.putObject("components");
        components.set("schemas", schemas.all());
        components.putObject("securitySchemes")
                .putObject("apiKey")
                .put("type", "apiKey")
                .put("in", "header")
                .put("name", "x-api-key");
        return json;
    }

    private static ObjectNode operation(Endpoint endpoint) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("operationId", endpoint.operationId);
        json.put("summary", endpoint.summary);
        json.putArray("tags").add(endpoint.tag);
        ArrayNode parameters = json.putArray("parameters");
        Matcher names = PATH_PARAMETER.matcher(endpoint.path);
        while (names.find()) {
            parameters.addObject()
                    .put("name", names.group(1))
                    .put("in", "path")
                    .put("required", true)
                    .set("schema", Json.NODES.objectNode().put("type", "string"));
        }
        endpoint.parameters.forEach(parameter -> parameters.add(parameter(parameter)));
        ArrayNode security = json.putArray("security");
        if (endpoint.access != Access.OPEN) {
            security.addObject().putArray("apiKey");
            if (endpoint.access == Access.TENANT) {
                parameters.add(parameter(new Parameter(
                        "x-tenant-id", true, Endpoint.Type.STRING, false, "the tenant; default: the key's, else \"default\"")));
            }
        }
        if (endpoint.bodySchema != null) {
            ObjectNode body = json.putObject("requestBody").put("required", !endpoint.bodyOptional);
            ObjectNode content = body.putObject("content");
            content.putObject("application/json").set("schema", Schemas.reference(endpoint.bodySchema));
            if (endpoint.yaml) {
                content.putObject("application/yaml").set("schema", Schemas.reference(endpoint.bodySchema));
            }
        }
        responses(endpoint, json.putObject("responses"));
        return json;
    }

    private static ObjectNode parameter(Parameter parameter) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("name", parameter.name());
        json.put("in", parameter.header() ? "header" : "query");
        json.put("description", parameter.description());
        json.put("required", parameter.required());
        ObjectNode schema = json.putObject("schema");
        switch (parameter.type()) {
            case STRING -> schema.put("type", "string");
            case UUID -> schema.put("type", "string").put("format", "uuid");
            case TIME -> schema.put("type", "string").put("format", "date-time");
            case INTEGER -> schema.put("type", "integer").put("minimum", 0);
        }
        return json;
    }

    private static void responses(Endpoint endpoint, ObjectNode responses) {
        for (Answer answer : endpoint.answers) {
            JsonNode there = responses.get(Integer.toString(answer.status()));
            ObjectNode response = there instanceof ObjectNode object ? object : responses.putObject(Integer.toString(answer.status()));
            response.put("description", answer.status() < 300 ? "as asked" : "not now");
            ObjectNode content = response.get("content") instanceof ObjectNode object ? object : response.putObject("content");
            ObjectNode media = content.putObject(answer.mediaType());
            media.set("schema", answer.schema() == null
                    ? Json.NODES.objectNode().put("type", "string")
                    : Schemas.reference(answer.schema()));
        }
        TreeSet<Integer> refusals = new TreeSet<>(endpoint.refusals);
        refusals.addAll(endpoint.access == Access.OPEN ? List.of(400) : List.of(400, 401, 403, 500, 503));
        if (endpoint.bodySchema != null) {
            refusals.addAll(List.of(413, 415));
        }
        for (int status : refusals) {
            if (!responses.has(Integer.toString(status))) {
                responses.putObject(Integer.toString(status))
                        .put("description", "refused; code says why")
                        .putObject("content")
                        .putObject(Problems.CONTENT_TYPE)
                        .set("schema", Schemas.reference("Problem"));
            }
        }
    }
}

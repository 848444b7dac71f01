package dev.waybill.server.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.server.ApiKeys;
import io.swagger.v3.oas.models.OpenAPI;
import io.swagger.v3.oas.models.Operation;
import io.swagger.v3.parser.OpenAPIV3Parser;
import io.swagger.v3.parser.core.models.ParseOptions;
import io.swagger.v3.parser.core.models.SwaggerParseResult;
import java.time.InstantSource;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

class OpenApiTest {
    private final Api api = new Api(StubBackend.empty(), ApiKeys.NONE, true, InstantSource.system(), () -> "", "test");
    private final SwaggerParseResult parsed =
            new OpenAPIV3Parser().readContents(Json.write(api.document()), null, new ParseOptions());

    @Test
    void theDocumentIsGoodOpenApi31() {
        assertThat(parsed.getMessages()).isNullOrEmpty();
        assertThat(parsed.getOpenAPI().getOpenapi()).isEqualTo("3.1.0");
    }

    @Test
    void everyEndpointOfTheRegistryIsInItAndNothingElse() {
        OpenAPI document = parsed.getOpenAPI();
        TreeSet<String> documented = new TreeSet<>();
        document.getPaths().forEach((path, item) -> item.readOperationsMap().forEach((method, operation) -> {
            documented.add(method + " " + path);
            assertThat(operation.getOperationId()).isNotBlank();
            assertThat(operation.getSummary()).isNotBlank();
        }));
        TreeSet<String> mounted = new TreeSet<>(api.endpoints().stream().map(Endpoint::toString).toList());
        assertThat(documented).isEqualTo(mounted);
        assertThat(api.endpoints()).extracting(Endpoint::operationId).doesNotHaveDuplicates();
    }

    @Test
    void everyOperationSaysWhatItAnswersAndHowItRefuses() {
        parsed.getOpenAPI().getPaths().forEach((path, item) -> item.readOperations().forEach(operation -> {
            assertThat(operation.getResponses().keySet()).as(path).anyMatch(status -> status.startsWith("2"));
            operation.getResponses().forEach((status, response) -> {
                if (Integer.parseInt(status) >= 400 && !(path.equals("/health/ready") && status.equals("503"))) {
                    assertThat(response.getContent()).as(path + " " + status).containsOnlyKeys("application/problem+json");
                }
            });
            pathParametersAreDeclared(path, operation);
        }));
    }

    private static void pathParametersAreDeclared(String path, Operation operation) {
        long declared = operation.getParameters() == null
                ? 0
                : operation.getParameters().stream().filter(p -> p.getIn().equals("path")).count();
        assertThat(declared).as(path).isEqualTo(path.chars().filter(c -> c == '{').count());
    }

    /** An unquoted comma in a YAML flow mapping makes a key without a value of what was meant as text. */
    @Test
    void noTextOfTheSchemasIsTornApart() {
        JsonNode schemas = api.document().path("components").path("schemas");
        schemas.findParents("type").forEach(schema -> schema.properties()
                .forEach(keyword -> assertThat(keyword.getValue().isNull()).as(keyword.getKey()).isFalse()));
        schemas.findParents("description").forEach(schema -> schema.properties()
                .forEach(keyword -> assertThat(keyword.getValue().isNull()).as(keyword.getKey()).isFalse()));
    }

    @Test
    void everyReferenceLeadsSomewhereAndEverySchemaIsUsed() {
        JsonNode document = api.document();
        TreeSet<String> used = new TreeSet<>();
        for (JsonNode reference : document.findValues("$ref")) {
            String name = reference.asString().substring("#/components/schemas/".length());
            assertThat(document.path("components").path("schemas").has(name)).as(name).isTrue();
            used.add(name);
        }
        assertThat(List.copyOf(document.path("components").path("schemas").propertyNames())).hasSameElementsAs(used);
    }
}

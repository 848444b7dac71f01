package dev.waybill.server.cli;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import tools.jackson.databind.JsonNode;

/** What people hand to commands: JSON on the line, {@code @FILE}, or {@code -} for standard input. */
final class Input {
    private Input() {}

    static JsonNode json(String argument, String what) {
        try {
            return argument.equals("-") || argument.startsWith("@")
                    ? Json.parse(file(argument.equals("-") ? "-" : argument.substring(1)))
                    : Json.parse(argument);
        } catch (WaybillException e) {
            throw new CliFailure(Exit.USAGE, what + " is not JSON: " + e.getMessage(), "write JSON, @FILE or - for standard input");
        }
    }

    static byte[] file(String name) {
        try {
            return name.equals("-") ? System.in.readAllBytes() : Files.readAllBytes(Path.of(name));
        } catch (IOException e) {
            throw new CliFailure(Exit.USAGE, "cannot read " + name + ": " + e.getClass().getSimpleName());
        }
    }

    static String contentType(String name) {
        return name.endsWith(".json") ? "application/json" : "application/yaml";
    }
}

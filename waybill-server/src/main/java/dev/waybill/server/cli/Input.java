package dev.waybill.server.cli;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.EvidenceFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Base64;
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

    /** A file as evidence: its name, its content and its hash, so that what arrives is what was sent. */
    static JsonNode evidence(String name) {
        byte[] content = file(name);
        Path path = Path.of(name).getFileName();
        EvidenceFile file;
        try {
            file = new EvidenceFile(name.equals("-") || path == null ? "stdin" : path.toString(), content);
        } catch (WaybillException e) {
            throw new CliFailure(Exit.USAGE, name + ": " + e.getMessage());
        }
        return Json.NODES.objectNode().put("name", file.name()).put("content_base64", Base64.getEncoder().encodeToString(content))
                .put("sha256", file.sha256());
    }

    /** Never over something that is there. */
    static void write(Path to, byte[] content) {
        try {
            Files.write(to, content, StandardOpenOption.CREATE_NEW);
        } catch (IOException e) {
            throw new CliFailure(Exit.USAGE, "cannot write " + to + ": " + e.getClass().getSimpleName());
        }
    }

    static String contentType(String name) {
        return name.endsWith(".json") ? "application/json" : "application/yaml";
    }
}

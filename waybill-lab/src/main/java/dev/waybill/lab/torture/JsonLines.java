package dev.waybill.lab.torture;

import dev.waybill.json.Json;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import tools.jackson.databind.JsonNode;

/** A journal of JSON lines, each there when {@link #add} returns. */
final class JsonLines implements AutoCloseable {
    private final BufferedWriter writer;

    JsonLines(Path file) throws IOException {
        this.writer = Files.newBufferedWriter(file);
    }

    synchronized void add(JsonNode line) {
        try {
            writer.write(Json.write(line));
            writer.newLine();
            writer.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public synchronized void close() {
        try {
            writer.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

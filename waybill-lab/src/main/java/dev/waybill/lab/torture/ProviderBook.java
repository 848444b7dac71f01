package dev.waybill.lab.torture;

import dev.waybill.json.Json;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/** The provider's ledger file as somebody reads it who has only the file, by receipt; each look reads what was added since. */
final class ProviderBook {
    private final Path file;
    private long read;
    private final Map<String, List<JsonNode>> deliveries = new HashMap<>();
    private final Map<String, List<JsonNode>> applications = new HashMap<>();

    ProviderBook(Path file) {
        this.file = file;
    }

    private void look() {
        try (RandomAccessFile ledger = new RandomAccessFile(file.toFile(), "r")) {
            byte[] more = new byte[(int) (ledger.length() - read)];
            ledger.seek(read);
            ledger.readFully(more);
            int whole = more.length;
            while (whole > 0 && more[whole - 1] != '\n') {
                whole--;
            }
            read += whole;
            new String(more, 0, whole, StandardCharsets.UTF_8).lines().map(Json::parseDefinition).forEach(this::add);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void add(JsonNode line) {
        Map<String, List<JsonNode>> kind =
                switch (line.path("kind").asString()) {
                    case "delivery" -> deliveries;
                    case "apply" -> applications;
                    default -> null;
                };
        if (kind != null && line.has("effect_id")) {
            kind.computeIfAbsent(line.path("effect_id").asString(), id -> new ArrayList<>()).add(line);
        }
    }

    /** Receipts whose requests came, as of the last look; cheap. */
    synchronized int delivered() {
        return deliveries.size();
    }

    synchronized List<JsonNode> applications(String receipt) {
        look();
        return List.copyOf(applications.getOrDefault(receipt, List.of()));
    }

    synchronized Map<String, List<JsonNode>> deliveries() {
        look();
        return Map.copyOf(deliveries);
    }

    synchronized Map<String, List<JsonNode>> applications() {
        look();
        return Map.copyOf(applications);
    }
}

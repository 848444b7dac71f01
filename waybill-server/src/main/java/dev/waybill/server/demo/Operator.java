package dev.waybill.server.demo;

import dev.waybill.json.Json;
import dev.waybill.test.Ledger;
import dev.waybill.test.LedgerEntry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** A person at the queue, for what cannot be asked: they have Acme Bank's statement of the day, and know nothing of the script. */
final class Operator {
    private static final String EFFECTS = "/api/v1/effects/";

    private final Stage.Api api;
    private final Show show;
    private final Scene scene;
    private final ArrayNode resolutions = Json.NODES.arrayNode();

    Operator(Stage.Api api, Show show, Scene scene) {
        this.api = api;
        this.show = show;
        this.scene = scene;
    }

    ArrayNode resolutions() {
        return resolutions;
    }

    void workOff(List<JsonNode> queue) {
        command("effects list --state unknown");
        List<JsonNode> cases = new ArrayList<>();
        for (JsonNode effect : queue) {
            JsonNode file = api.get(EFFECTS + WaybillAct.text(effect, "effect_id"));
            boolean heals = file.path("healing").path("verifier").asBoolean(false);
            show.note(String.format(
                    Locale.ROOT, "%s  %-8s %-7s %-11s %3d s   %s%s", WaybillAct.text(effect, "effect_id").substring(0, 8),
                    effect.path("labels").path("order").asString(""), WaybillAct.text(effect, "block_id"),
                    effect.path("labels").path("amount").asString(""), effect.path("age_seconds").asLong(0), WaybillAct.reason(effect),
                    heals ? "   " + show.dim("its verifier is at it") : ""));
            if (!heals) {
                cases.add(file);
            }
        }
        if (!cases.isEmpty()) {
            Path statement = statement();
            show.note("  Acme Bank cannot be asked; its statement of the day: " + statement.getFileName());
            fromStatement(cases, statement);
        }
    }

    private void command(String arguments) {
        show.note(show.dim("$ ./waybill " + arguments));
    }

    /** Acme Bank's file, as it comes at the end of a day: every transfer it has booked, from its own ledger. */
    private Path statement() {
        List<String> lines = new ArrayList<>(List.of("booked_at,transaction,reference,amount,currency"));
        for (LedgerEntry entry : Ledger.read(scene.ledger(Strategy.WAYBILL))) {
            JsonNode booked = entry.answer();
            if (entry.kind() == LedgerEntry.Kind.APPLY && entry.path().equals(Order.TRANSFERS) && booked != null) {
                lines.add(String.join(
                        ",", entry.at().toString(), WaybillAct.text(booked, "id"), WaybillAct.text(booked, "order"),
                        WaybillAct.text(booked, "amount"), WaybillAct.text(booked, "currency")));
            }
        }
        try {
            return Files.write(scene.file("acme-bank-statement.csv"), lines);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write the statement", e);
        }
    }

    /** The statement is imported as it came: what it proves is decided, and nothing else. */
    private void fromStatement(List<JsonNode> cases, Path statement) {
        String content = read(statement);
        content.lines().skip(1).forEach(line -> show.note("  " + line));
        String bank = WaybillAct.text(cases.getFirst(), "destination");
        String destination = bank.substring(bank.indexOf(' ') + 1);
        command("effects import-statement " + statement.getFileName() + " --dest " + destination
                + " --match label:order --map key=reference,id=transaction --apply");
        ObjectNode body = Json.NODES
                .objectNode()
                .put("name", statement.getFileName().toString())
                .put("destination", destination)
                .put("content", content)
                .put("match_label", "order")
                .put("apply", true);
        body.putObject("columns").put("key", "reference").put("id", "transaction");
        JsonNode report = api.post(EFFECTS + "import-statement", body);
        for (JsonNode file : cases) {
            String id = WaybillAct.text(file, "effect_id");
            List<JsonNode> decided = new ArrayList<>();
            for (JsonNode row : report.path("rows")) {
                if (WaybillAct.text(row, "effect_id").equals(id) && WaybillAct.text(row, "action").equals("committed")) {
                    decided.add(row);
                }
            }
            if (decided.size() != 1) {
                throw new IllegalStateException("the statement decides " + id + " " + decided.size() + " times, expected once: " + Json.write(report));
            }
            decided(file, decided.getFirst());
        }
    }

    private void decided(JsonNode file, JsonNode row) {
        String order = file.path("labels").path("order").asString("");
        String run = WaybillAct.text(file, "instance_id");
        JsonNode ended = WaybillAct.settled(api, run, order);
        var receipts = WaybillAct.receipts(api, run);
        JsonNode charge = receipts.getOrDefault("charge", Json.NODES.missingNode());
        JsonNode ship = receipts.getOrDefault("ship", Json.NODES.missingNode());
        show.step(order + "  " + WaybillAct.text(row, "provider_receipt_id") + " is on the statement   charge " + show.state(WaybillAct.text(charge, "state"))
                + " " + WaybillAct.text(charge, "provider_receipt_id") + "   label " + show.state(WaybillAct.text(ship, "state")) + " "
                + WaybillAct.text(ship, "provider_receipt_id") + "   " + WaybillAct.runState(ended));
        ObjectNode kept = resolutions.addObject().put("order", order).put("effect_id", WaybillAct.text(file, "effect_id"));
        kept.put("block", WaybillAct.text(file, "block_id"));
        kept.set("statement", row);
        kept.set("receipt", charge.path("state"));
        kept.set("run", ended.path("state"));
    }

    private static String read(Path statement) {
        try {
            return Files.readString(statement);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + statement, e);
        }
    }
}

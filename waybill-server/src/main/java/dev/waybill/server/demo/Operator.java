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
                    effect.path("labels").path("amount").asString("") + " " + effect.path("labels").path("currency").asString(""), effect.path("age_seconds").asLong(0), WaybillAct.reason(effect),
                    heals ? "   " + show.dim("its verifier is at it") : ""));
            if (!heals) {
                cases.add(file);
            }
        }
        if (!cases.isEmpty()) {
            Path statement = statement();
            show.note("  Acme Bank cannot be asked; its statement of the day: " + statement.getFileName());
            importStatement(cases, statement);
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

    /** The three-way match decides: the unknown transfer that the bank's line proves is committed, with that line as evidence. */
    private void importStatement(List<JsonNode> cases, Path statement) {
        for (JsonNode file : cases) {
            command("effects show " + WaybillAct.text(file, "effect_id").substring(0, 8));
        }
        String destination = WaybillAct.text(cases.getFirst(), "destination");
        command("effects import-statement " + statement.getFileName() + " --dest \"" + destination + "\" --map key=reference,id=transaction --apply");
        ObjectNode body = Json.NODES
                .objectNode()
                .put("name", String.valueOf(statement.getFileName()))
                .put("destination", destination)
                .put("content", read(statement))
                .put("apply", true);
        body.putObject("columns").put("key", "reference").put("id", "transaction").put("amount", "amount").put("currency", "currency");
        for (JsonNode row : api.post(EFFECTS + "import-statement", body).path("rows")) {
            show.note("  " + WaybillAct.text(row, "key") + "  " + WaybillAct.text(row, "provider_receipt_id") + "  " + WaybillAct.text(row, "amount") + "  "
                    + show.good(WaybillAct.text(row, "kind")) + "  " + WaybillAct.text(row, "action"));
        }
        cases.forEach(this::ended);
    }

    private static String read(Path statement) {
        try {
            return Files.readString(statement);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + statement, e);
        }
    }

    private void ended(JsonNode file) {
        String id = WaybillAct.text(file, "effect_id");
        String order = file.path("labels").path("order").asString("");
        String run = WaybillAct.text(file, "instance_id");
        JsonNode ended = WaybillAct.settled(api, run, order);
        var receipts = WaybillAct.receipts(api, run);
        JsonNode charge = receipts.getOrDefault("charge", Json.NODES.missingNode());
        JsonNode ship = receipts.getOrDefault("ship", Json.NODES.missingNode());
        show.step(order + "  on the bank's statement   charge " + show.state(WaybillAct.text(charge, "state")) + " "
                + WaybillAct.text(charge, "provider_receipt_id") + "   label " + show.state(WaybillAct.text(ship, "state")) + " "
                + WaybillAct.text(ship, "provider_receipt_id") + "   " + WaybillAct.runState(ended));
        ObjectNode kept = resolutions.addObject().put("order", order).put("effect_id", id).put("block", WaybillAct.text(file, "block_id"));
        kept.put("provider_receipt_id", WaybillAct.text(charge, "provider_receipt_id"));
        kept.set("receipt", charge.path("state"));
        kept.set("run", ended.path("state"));
    }
}

package dev.waybill.server.demo;

import dev.waybill.json.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** A person at the queue: opens each case, asks the provider's record, decides with what was found. Knows nothing of the script. */
final class Operator {
    private static final String EFFECTS = "/api/v1/effects/";
    private static final long LOOK_AGAIN_MILLIS = 200;

    private final Stage.Api api;
    private final Show show;
    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final ArrayNode resolutions = Json.NODES.arrayNode();

    Operator(Stage.Api api, Show show) {
        this.api = api;
        this.show = show;
    }

    ArrayNode resolutions() {
        return resolutions;
    }

    /** One case, as the operator has it before them. */
    private record Case(String id, String run, String name, JsonNode file) {
        static Case open(Stage.Api api, JsonNode listed) {
            JsonNode file = api.get(EFFECTS + WaybillAct.text(listed, "effect_id"));
            return new Case(
                    WaybillAct.text(file, "effect_id"), WaybillAct.text(file, "instance_id"), file.path("labels").path("order").asString(""), file);
        }

        String shortId() {
            return id.substring(0, 8);
        }

        /** Where the provider's own record of this request can be asked for. */
        String record() {
            JsonNode request = file.path("request");
            String key = request.path("headers").path(Order.KEY_HEADER).asString("");
            return request.path("url").asString("") + "?key=" + URLEncoder.encode(key, StandardCharsets.UTF_8);
        }

        Instant quietAt() {
            return Instant.parse(WaybillAct.text(file, "quiet_at"));
        }
    }

    void workOff(List<JsonNode> queue) {
        command("effects list --state unknown");
        for (JsonNode effect : queue) {
            show.note(String.format(
                    Locale.ROOT, "%s  %-8s %-7s %-11s %3d s   %s", WaybillAct.text(effect, "effect_id").substring(0, 8),
                    effect.path("labels").path("order").asString(""), WaybillAct.text(effect, "block_id"),
                    effect.path("labels").path("amount").asString(""), effect.path("age_seconds").asLong(0), WaybillAct.reason(effect)));
        }
        List<Case> notFound = new ArrayList<>();
        for (JsonNode effect : queue) {
            command("effects show " + WaybillAct.text(effect, "effect_id").substring(0, 8));
            Case one = Case.open(api, effect);
            JsonNode record = ask(one);
            if (record == null) {
                notFound.add(one);
            } else {
                found(one, record);
            }
        }
        for (Case one : notFound) {
            JsonNode record = awaitQuiet(one) ? ask(one) : null;
            if (record == null) {
                absent(one);
            } else {
                found(one, record);
            }
        }
    }

    private void command(String arguments) {
        show.note(show.dim("$ ./waybill " + arguments));
    }

    /** @return what the provider has under the key of this request, or null */
    private @Nullable JsonNode ask(Case one) {
        String url = one.record();
        try {
            HttpResponse<byte[]> response = http.send(
                    HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(30)).build(), HttpResponse.BodyHandlers.ofByteArray());
            JsonNode items = Json.parse(response.body()).path("items");
            JsonNode record = items.isEmpty() ? null : items.get(0);
            show.note("  Acme Pay, " + URI.create(url).getPath() + "?" + URI.create(url).getQuery() + ":  "
                    + (record == null ? "nothing" : WaybillAct.text(record, "id") + " " + WaybillAct.text(record, "status")));
            return record;
        } catch (IOException e) {
            throw new UncheckedIOException("Acme Pay does not show its record", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while asking Acme Pay", e);
        }
    }

    private void found(Case one, JsonNode record) {
        String id = WaybillAct.text(record, "id");
        String note = "Acme Pay's record: " + id + " " + WaybillAct.text(record, "status");
        command("effects resolve " + one.shortId() + " --committed --provider-id " + id + " --note \"" + note + "\"");
        ObjectNode body = Json.NODES.objectNode().put("state", "committed").put("provider_receipt_id", id);
        body.putObject("evidence").put("note", note).put("link", one.record());
        resolve(one, body, "record " + id + " found");
    }

    private void absent(Case one) {
        String note = "searched Acme Pay by key after it was quiet: nothing";
        command("effects resolve " + one.shortId() + " --abandoned --resend --note \"" + note + "\"");
        ObjectNode body = Json.NODES.objectNode().put("state", "abandoned").put("then", "resend");
        body.putObject("evidence").put("note", note).put("link", one.record());
        resolve(one, body, "nothing found, sent once more");
    }

    private void resolve(Case one, ObjectNode body, String why) {
        JsonNode resolved = api.post(EFFECTS + one.id + "/resolve", body);
        JsonNode run = WaybillAct.settled(api, one.run, one.name);
        var receipts = WaybillAct.receipts(api, one.run);
        JsonNode charge = receipts.getOrDefault("charge", Json.NODES.missingNode());
        JsonNode ship = receipts.getOrDefault("ship", Json.NODES.missingNode());
        show.step(one.name + "  " + why + "   " + "charge " + show.state(WaybillAct.text(charge, "state")) + " "
                + WaybillAct.text(charge, "provider_receipt_id") + "   " + "label " + show.state(WaybillAct.text(ship, "state")) + " "
                + WaybillAct.text(ship, "provider_receipt_id") + "   " + WaybillAct.runState(run));
        ObjectNode kept = resolutions.addObject().put("order", one.name).put("effect_id", one.id).put("block", WaybillAct.text(one.file, "block_id"));
        kept.setAll(body);
        kept.set("receipt", resolved.path("state"));
        kept.set("run", run.path("state"));
    }

    /**
     * A packet of the first send may still be on its way: nothing found before it is quiet would prove nothing.
     *
     * @return whether there was something to wait for, so that the record must be asked again
     */
    private boolean awaitQuiet(Case one) {
        if (one.file.path("quiet").asBoolean(false)) {
            return false;
        }
        show.step(one.name + "  nothing found, but the first send may still arrive until " + one.quietAt().toString().substring(11, 19)
                + " UTC: waiting until it is quiet");
        long deadline = System.nanoTime() + Children.PATIENCE.toNanos();
        while (!api.get(EFFECTS + one.id).path("quiet").asBoolean(false)) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("effect " + one.id + " does not become quiet");
            }
            try {
                TimeUnit.MILLISECONDS.sleep(LOOK_AGAIN_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while waiting for effect " + one.id, e);
            }
        }
        show.step(one.name + "  quiet: what has not arrived by now never will");
        return true;
    }
}

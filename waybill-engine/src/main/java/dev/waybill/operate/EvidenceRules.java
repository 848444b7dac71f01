package dev.waybill.operate;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Resolution.Then;
import dev.waybill.store.EvidenceRow;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import tools.jackson.databind.node.ObjectNode;

/** What may be taken as evidence. */
final class EvidenceRules {
    private static final int MAX_NOTE = 10_000;
    private static final int MAX_FILES = 20;
    private static final int MAX_LINK = 2_048;

    private EvidenceRules() {}

    static void requireRoom(List<EvidenceRow> known, List<EvidenceRow> more) {
        long files = Stream.concat(known.stream(), more.stream()).filter(row -> row.kind().equals("file")).count();
        if (files > MAX_FILES && more.stream().anyMatch(row -> row.kind().equals("file"))) {
            throw WaybillException.conflict("EVIDENCE_FULL", "a case file holds at most " + MAX_FILES + " files", "attach a link instead");
        }
    }

    static String checkedNote(String note, String what) {
        if (note.isBlank() || note.length() > MAX_NOTE) {
            throw new WaybillException(
                    422, "EVIDENCE_REQUIRED", what + ": a note of 1 to " + MAX_NOTE + " characters is required", "/note",
                    "add --note \"what the provider's record shows\"");
        }
        return note;
    }

    /** An address that a person opens in a browser, and nothing that runs there. */
    static String checkedLink(String link, String pointer) {
        try {
            URI address = new URI(link);
            boolean web = "https".equalsIgnoreCase(address.getScheme()) || "http".equalsIgnoreCase(address.getScheme());
            if (web && address.getHost() != null && link.length() <= MAX_LINK) {
                return link;
            }
        } catch (URISyntaxException e) {
            // Said below.
        }
        throw EvidenceFile.invalid("a link is an http or https address of at most " + MAX_LINK + " characters", pointer);
    }

    /** Of the row that a decision leaves. */
    static ObjectNode body(Resolution r, Then then) {
        ObjectNode evidence = Json.NODES.objectNode();
        evidence.put("state", r.state().wire());
        evidence.put("note", r.note());
        if (r.link() != null) {
            evidence.put("link", r.link());
        }
        if (r.providerReceiptId() != null) {
            evidence.put("provider_receipt_id", r.providerReceiptId());
        }
        if (r.file() != null) {
            evidence.set("file", r.file().json());
        }
        evidence.put("then", then.name().toLowerCase(Locale.ROOT));
        if (r.idempotencyKey() != null) {
            evidence.put("idempotency_key", r.idempotencyKey());
        }
        return evidence;
    }
}

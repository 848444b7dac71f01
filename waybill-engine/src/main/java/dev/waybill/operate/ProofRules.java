package dev.waybill.operate;

import dev.waybill.model.EffectState;
import dev.waybill.model.WaybillException;
import java.net.URI;
import java.net.URISyntaxException;
import org.jspecify.annotations.Nullable;

/**
 * What each outcome must be proven with (semantics.md section 5, Resolve). The one road of decisions asks here, so no way in can
 * leave the proof out. Pointers are those of the wire.
 *
 * <table>
 * <caption>Required</caption>
 * <tr><td>every outcome</td><td>a note of what was looked at</td></tr>
 * <tr><td>committed</td><td>the provider's id of it, or a file that shows its record</td></tr>
 * <tr><td>verified</td><td>the note: whose record was checked</td></tr>
 * <tr><td>compensated</td><td>the note: how it was undone</td></tr>
 * <tr><td>abandoned</td><td>the note: what was searched</td></tr>
 * </table>
 */
final class ProofRules {
    static final int MAX_NOTE = 10_000;
    private static final int MAX_LINK = 2_048;
    private static final int MAX_NAME = 255;

    private ProofRules() {}

    /** @throws WaybillException 422 EVIDENCE_REQUIRED or EVIDENCE_INVALID, with the pointer of what is missing */
    static void check(Resolution r) {
        note(r.note(), asks(r.state()));
        link(r.link(), "/evidence/link");
        file(r.file(), "/evidence/file");
        String id = r.providerReceiptId();
        if (id != null && (id.isBlank() || id.length() > MAX_NAME)) {
            throw invalid("the provider's id is 1 to " + MAX_NAME + " characters", "/provider_receipt_id");
        }
        if (r.state() == EffectState.COMMITTED && id == null && r.file() == null) {
            throw new WaybillException(
                    422, "EVIDENCE_REQUIRED", "committed needs the provider's own id of it, or a file that shows its record",
                    "/provider_receipt_id", "add --provider-id ID, or --evidence-file FILE");
        }
    }

    /** @throws WaybillException 422 EVIDENCE_REQUIRED or EVIDENCE_INVALID */
    static void check(Evidence evidence) {
        if (evidence.note() == null && evidence.link() == null && evidence.file() == null) {
            throw new WaybillException(
                    422, "EVIDENCE_REQUIRED", "evidence is a note, a link or a file: none is given", "", "add --note, --link or --file");
        }
        if (evidence.note() != null && (evidence.note().isBlank() || evidence.note().length() > MAX_NOTE)) {
            throw invalid("a note is 1 to " + MAX_NOTE + " characters", "/note");
        }
        link(evidence.link(), "/link");
        file(evidence.file(), "/file");
    }

    static void note(String note, String asked) {
        if (note.isBlank() || note.length() > MAX_NOTE) {
            throw new WaybillException(
                    422, "EVIDENCE_REQUIRED", asked + ": a note of 1 to " + MAX_NOTE + " characters is required", "/evidence",
                    "add --note \"what the provider's record shows\"");
        }
    }

    static void link(@Nullable String link, String pointer) {
        if (link == null) {
            return;
        }
        try {
            URI uri = new URI(link);
            boolean web = "https".equalsIgnoreCase(uri.getScheme()) || "http".equalsIgnoreCase(uri.getScheme());
            if (!web || uri.getHost() == null || uri.getRawUserInfo() != null || link.length() > MAX_LINK) {
                throw invalid("a link is an http or https address without credentials, at most " + MAX_LINK + " characters", pointer);
            }
        } catch (URISyntaxException e) {
            throw invalid("the link is not an address: " + e.getReason(), pointer);
        }
    }

    private static void file(@Nullable Attachment file, String pointer) {
        if (file == null) {
            return;
        }
        if (file.bytes().length == 0 || file.bytes().length > Attachment.MAX_BYTES) {
            throw invalid("a file has 1 to " + Attachment.MAX_BYTES + " bytes; link what is larger", pointer);
        }
        if (!file.name().matches("[^/\\\\\\p{Cntrl}]{1," + MAX_NAME + "}")) {
            throw invalid("a file's name is 1 to " + MAX_NAME + " characters, without a path", pointer + "/name");
        }
        if (!file.mediaType().matches("[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}")) {
            throw invalid("a file's media type is such as application/pdf", pointer + "/media_type");
        }
    }

    private static String asks(EffectState state) {
        return switch (state) {
            case ABANDONED -> "say where you searched and what you did not find";
            case COMPENSATED -> "say how it was undone";
            default -> "say what you looked at";
        };
    }

    private static WaybillException invalid(String why, String pointer) {
        return new WaybillException(422, "EVIDENCE_INVALID", why, pointer, null);
    }
}

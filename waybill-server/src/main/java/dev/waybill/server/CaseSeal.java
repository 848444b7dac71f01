package dev.waybill.server;

import dev.waybill.json.CanonicalJson;
import dev.waybill.json.Json;
import dev.waybill.store.DeskStore;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Seals a case: its entries are chained by SHA-256 and the end of the chain is signed with Ed25519 (RFC 8032). Checking needs the file
 * and, to know who made it, the public key; no server.
 *
 * <p>{@code link(0) = SHA-256("waybill-case/1" || head)}, {@code link(i) = SHA-256(link(i-1) || SHA-256(canonical entry i))}; the signature is
 * over {@code "waybill-case/1" || last link}. The head is the hash of everything beside the entries.
 */
public final class CaseSeal {
    public static final String FORMAT = "waybill-case/1";
    private static final String ALGORITHM = "Ed25519";
    private static final String KEPT_AS = "case_signing_key";
    private static final String SIGNATURE = "signature";
    private static final byte[] DOMAIN = FORMAT.getBytes(java.nio.charset.StandardCharsets.US_ASCII);

    private final PrivateKey secret;
    private final byte[] open;

    private CaseSeal(PrivateKey secret, byte[] open) {
        this.secret = secret;
        this.open = open;
    }

    /** The key of this database; made by whoever asks first. */
    public static CaseSeal of(DeskStore store) {
        try {
            KeyPair fresh = KeyPairGenerator.getInstance(ALGORITHM).generateKeyPair();
            String kept = store.keepOnce(
                    KEPT_AS, base64(fresh.getPrivate().getEncoded()) + " " + base64(fresh.getPublic().getEncoded()));
            String[] parts = kept.split(" ", 2);
            PrivateKey secret = KeyFactory.getInstance(ALGORITHM).generatePrivate(new PKCS8EncodedKeySpec(bytes(parts[0])));
            return new CaseSeal(secret, bytes(parts[1]));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("the signing key in the database cannot be used", e);
        }
    }

    /** What {@code /api/v1/signing-key} answers. */
    public ObjectNode publicKey() {
        return Json.NODES
                .objectNode()
                .put("algorithm", ALGORITHM)
                .put("key_id", keyId(open))
                .put("public_key", base64(open));
    }

    /**
     * @param document {@code format}, {@code entries} and what else belongs to the head
     * @return the same, with its seal
     */
    public ObjectNode seal(ObjectNode document) {
        List<String> chain = chain(document);
        try {
            Signature signature = Signature.getInstance(ALGORITHM);
            signature.initSign(secret);
            signature.update(DOMAIN);
            signature.update(HexFormat.of().parseHex(chain.getLast()));
            ObjectNode seal = publicKey();
            chain.forEach(seal.putArray("chain")::add);
            seal.put("value", base64(signature.sign()));
            document.set(SIGNATURE, seal);
            return document;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("the signing key in the database cannot be used", e);
        }
    }

    /**
     * Checks a sealed document.
     *
     * @param trusted base64 of the public key (SPKI) that must have signed, or null: the one in the file
     * @return what is wrong with it, or empty
     */
    public static Optional<String> fault(JsonNode document, @Nullable String trusted) {
        JsonNode seal = document.path(SIGNATURE);
        if (!document.path("format").asString("").equals(FORMAT) || !document.path("entries").isArray() || !seal.isObject()) {
            return Optional.of("this is no " + FORMAT + " file");
        }
        String key = seal.path("public_key").asString("");
        if (trusted != null && !trusted.strip().equals(key)) {
            return Optional.of("it was signed with another key (" + seal.path("key_id").asString("") + ")");
        }
        for (JsonNode entry : document.path("entries")) {
            if (entry.has("content_base64") && !contentFits(entry)) {
                return Optional.of("the content of evidence " + entry.path("n").asString("") + " does not have its SHA-256");
            }
        }
        ObjectNode bare = ((ObjectNode) document).deepCopy();
        bare.remove(SIGNATURE);
        List<String> chain = chain(bare);
        List<String> claimed = seal.path("chain").valueStream().map(link -> link.asString("")).toList();
        for (int i = 0; i < chain.size(); i++) {
            if (i >= claimed.size() || !chain.get(i).equals(claimed.get(i))) {
                return Optional.of(i == 0 ? "its head was changed" : "entry " + i + " was changed, or one before it is missing");
            }
        }
        if (claimed.size() != chain.size()) {
            return Optional.of("entries are missing at its end");
        }
        try {
            Signature signature = Signature.getInstance(ALGORITHM);
            PublicKey open = KeyFactory.getInstance(ALGORITHM).generatePublic(new X509EncodedKeySpec(bytes(key)));
            signature.initVerify(open);
            signature.update(DOMAIN);
            signature.update(HexFormat.of().parseHex(chain.getLast()));
            return signature.verify(bytes(seal.path("value").asString(""))) && keyId(bytes(key)).equals(seal.path("key_id").asString(""))
                    ? Optional.empty()
                    : Optional.of("the signature is not that key's");
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            return Optional.of("the signature or its key cannot be read");
        }
    }

    private static boolean contentFits(JsonNode entry) {
        try {
            return sha256(bytes(entry.path("content_base64").asString(""))).equals(entry.path("content_sha256").asString(""));
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static List<String> chain(ObjectNode document) {
        ObjectNode head = document.deepCopy();
        head.remove("entries");
        List<String> chain = new ArrayList<>();
        chain.add(sha256(DOMAIN, HexFormat.of().parseHex(CanonicalJson.sha256Hex(head))));
        for (JsonNode entry : document.path("entries")) {
            chain.add(sha256(HexFormat.of().parseHex(chain.getLast()), HexFormat.of().parseHex(CanonicalJson.sha256Hex(entry))));
        }
        return chain;
    }

    public static String sha256(byte[]... parts) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (byte[] part : parts) {
                digest.update(part);
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    private static String keyId(byte[] open) {
        return sha256(open).substring(0, 16);
    }

    private static String base64(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    private static byte[] bytes(String base64) {
        return Base64.getDecoder().decode(base64);
    }
}

package dev.waybill.operate;

import dev.waybill.json.CanonicalJson;
import dev.waybill.json.Json;
import dev.waybill.store.SigningKey;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Signs the export of a case, and tells later, without any server, whether it is still what was signed. The signature (Ed25519, RFC 8032) is
 * over the canonical form ({@link CanonicalJson}: RFC 8785, and exact decimals where a double would lose digits) of
 * {@code {"case": .., "format": "waybill-case-v1"}}.
 */
public final class CaseSigner {
    public static final String FORMAT = "waybill-case-v1";
    private static final String ALGORITHM = "Ed25519";

    private final Supplier<SigningKey> key;

    /** @param key read when something is signed */
    public CaseSigner(Supplier<SigningKey> key) {
        this.key = key;
    }

    /** A new key, for a store that has none. */
    public static SigningKey generate() {
        try {
            KeyPair pair = KeyPairGenerator.getInstance(ALGORITHM).generateKeyPair();
            return new SigningKey(pair.getPublic().getEncoded(), pair.getPrivate().getEncoded());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has Ed25519", e);
        }
    }

    /** {@code {algorithm, public_key, key_sha256}}. */
    public ObjectNode publicKey() {
        return describe(key.get().publicKey());
    }

    private static ObjectNode describe(byte[] publicKey) {
        return Json.NODES.objectNode().put("algorithm", ALGORITHM).put("public_key", Base64.getEncoder().encodeToString(publicKey))
                .put("key_sha256", EvidenceFile.sha256(publicKey));
    }

    /** @return {@code {format, case, sha256, signature: {algorithm, public_key, key_sha256, value}}}, canonical */
    public byte[] sign(JsonNode file) {
        SigningKey signing = key.get();
        byte[] signed = signedBytes(file);
        ObjectNode document = Json.NODES.objectNode().put("format", FORMAT);
        document.set("case", file);
        document.put("sha256", EvidenceFile.sha256(signed));
        try {
            Signature signature = Signature.getInstance(ALGORITHM);
            signature.initSign(KeyFactory.getInstance(ALGORITHM).generatePrivate(new PKCS8EncodedKeySpec(signing.privateKey())));
            signature.update(signed);
            document.set("signature", describe(signing.publicKey()).put("value", Base64.getEncoder().encodeToString(signature.sign())));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("the store's signing key cannot be used", e);
        }
        return CanonicalJson.canonical(document);
    }

    private static byte[] signedBytes(JsonNode file) {
        return CanonicalJson.canonical(Json.NODES.objectNode().put("format", FORMAT).set("case", file));
    }

    /**
     * @param publicKey the key it must be signed with, in base64; null: the one it names, which proves only that it is of one piece
     * @return what is wrong with it; empty = nothing
     */
    public static List<String> faults(JsonNode document, @Nullable String publicKey) {
        if (!document.path("format").asString("").equals(FORMAT) || !document.path("case").isObject()) {
            return List.of("it is not a case file of the format " + FORMAT);
        }
        List<String> faults = new ArrayList<>();
        byte[] signed = signedBytes(document.path("case"));
        if (!document.path("sha256").asString("").equals(EvidenceFile.sha256(signed))) {
            faults.add("the case is not the one whose sha256 is given");
        }
        JsonNode signature = document.path("signature");
        String named = signature.path("public_key").asString("");
        if (publicKey != null && !publicKey.strip().equals(named)) {
            faults.add("it names another public key than the expected one");
        }
        if (!verifies(publicKey == null ? named : publicKey.strip(), signed, signature.path("value").asString(""))) {
            faults.add("the signature does not belong to this case and key");
        }
        for (JsonNode item : document.path("case").path("evidence")) {
            evidenceFaults(item, faults);
        }
        return List.copyOf(faults);
    }

    private static void evidenceFaults(JsonNode item, List<String> faults) {
        String content = item.path("content_base64").asString("");
        if (!content.isEmpty()) {
            byte[] bytes = decode(content);
            String hash = item.path("content_sha256").asString("");
            String promised = item.path("body").path("sha256").asString(hash);
            boolean file = item.path("kind").asString("").equals("file");
            if (bytes == null || !EvidenceFile.sha256(bytes).equals(hash) || file && !promised.equals(hash)) {
                faults.add("the content of an evidence item does not have its sha256 " + hash);
            }
        }
    }

    private static boolean verifies(String publicKey, byte[] signed, String value) {
        byte[] key = decode(publicKey);
        byte[] given = decode(value);
        if (key == null || given == null) {
            return false;
        }
        try {
            PublicKey known = KeyFactory.getInstance(ALGORITHM).generatePublic(new X509EncodedKeySpec(key));
            Signature signature = Signature.getInstance(ALGORITHM);
            signature.initVerify(known);
            signature.update(signed);
            return signature.verify(given);
        } catch (GeneralSecurityException e) {
            return false; // No key, or no signature: the same as a wrong one.
        }
    }

    private static byte @Nullable [] decode(String base64) {
        try {
            return Base64.getDecoder().decode(base64);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    /** Hex SHA-256, for content that goes with a case. */
    public static String sha256(byte[] content) {
        return EvidenceFile.sha256(content);
    }
}

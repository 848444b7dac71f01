package dev.waybill.store;

/**
 * The key this store's case files are signed with (Ed25519, RFC 8032).
 *
 * @param publicKey  X.509 SubjectPublicKeyInfo, DER
 * @param privateKey PKCS #8, DER; never shown
 */
public record SigningKey(byte[] publicKey, byte[] privateKey) {
    @Override
    public String toString() {
        return "SigningKey";
    }
}

package dev.waybill.definition;

/**
 * One thing that is wrong with a sequence document.
 *
 * @param code    stable: UNKNOWN_FIELD, UNSUPPORTED, KEY_NOT_STABLE ..
 * @param pointer JSON pointer (RFC 6901) into the document
 * @param message what is wrong and what to write instead
 */
public record Fault(String code, String pointer, String message) {}

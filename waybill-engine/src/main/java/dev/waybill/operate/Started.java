package dev.waybill.operate;

import java.util.UUID;

/**
 * @param deduplicated true when the key was used before: {@code id} is the first run
 */
public record Started(UUID id, boolean deduplicated) {}

package dev.waybill.model;

import java.util.UUID;

/**
 * The right of one node to move an instance. {@code epoch} grows with every claim; {@code nonce} is random, so that an epoch
 * which a failover lost and handed out again never matches.
 */
public record Claim(long epoch, UUID nonce) {}

package dev.waybill.model;

/**
 * Where an effect sits in an instance: the block path with the indices of every loop around it (for example
 * {@code items[1]/charge}), and the attempt.
 */
public record EffectPosition(String path, int attempt) {}

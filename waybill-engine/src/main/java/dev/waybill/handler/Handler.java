package dev.waybill.handler;

/**
 * What a step can call. Either {@link EffectHandler} (touches the outside: guarded by a receipt; the default for anything the engine
 * cannot prove harmless) or {@link PureHandler} (no receipt, may be run again).
 */
public sealed interface Handler permits EffectHandler, PureHandler {}

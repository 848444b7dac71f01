/** The flight recorder: what a node was about to send and what came back, in a mapped file that a {@code kill -9} leaves behind. */
@org.jspecify.annotations.NullMarked
package dev.waybill.recorder;

package dev.waybill.lab.torture;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Deeds by seed, but each of them comes before any comes again: what a run must reach does not hang on luck. */
final class Deck<T> {
    private final List<T> cards;
    private final Random random;
    private final ArrayDeque<T> left;

    /** @param first come before all others. @param cards one that is there twice comes twice as often */
    Deck(List<T> first, List<T> cards, Random random) {
        this.cards = new ArrayList<>(cards);
        this.random = random;
        this.left = new ArrayDeque<>(first);
    }

    synchronized T draw() {
        if (left.isEmpty()) {
            Collections.shuffle(cards, random);
            left.addAll(cards);
        }
        return left.removeFirst();
    }
}

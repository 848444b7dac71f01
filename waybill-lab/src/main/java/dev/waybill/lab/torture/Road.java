package dev.waybill.lab.torture;

import dev.waybill.test.FaultProxy;

/** One of the ways to the provider: a step's URL leads over one of them, whichever node sends it. */
record Road(String name, FaultProxy wire) {}

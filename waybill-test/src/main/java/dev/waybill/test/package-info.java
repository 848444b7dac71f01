/**
 * What tests of side effects need and mocks cannot give: a provider with a ledger of its own and a fault script, a faulty network, a
 * database that can be killed, processes that can be stopped. Nothing here depends on the engine.
 */
@org.jspecify.annotations.NullMarked
package dev.waybill.test;

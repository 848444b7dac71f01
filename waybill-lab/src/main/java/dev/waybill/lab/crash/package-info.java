/** What is killed: an engine as a child process that stops where it is told to. */
@org.jspecify.annotations.NullMarked
package dev.waybill.lab.crash;

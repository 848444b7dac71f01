/** The torture run: real processes, a real database, a real provider, and somebody who kills them; then the books are compared. */
@org.jspecify.annotations.NullMarked
package dev.waybill.lab.torture;

/** What starts runs: schedules, and whose deliveries are believed (semantics.md section 7). */
@NullMarked
package dev.waybill.trigger;

import org.jspecify.annotations.NullMarked;

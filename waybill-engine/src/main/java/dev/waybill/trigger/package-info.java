/** What starts runs: schedules (semantics.md section 7). */
@NullMarked
package dev.waybill.trigger;

import org.jspecify.annotations.NullMarked;

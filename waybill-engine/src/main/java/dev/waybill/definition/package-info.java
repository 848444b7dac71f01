/** The sequence document: sealed blocks, parser, validator, templates and expressions. */
@org.jspecify.annotations.NullMarked
package dev.waybill.definition;

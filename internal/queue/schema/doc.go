// Package schema checks bodies of messages against JSON Schemas of the draft 2020-12.
// Both the bodies and the schemas may be hostile.
//
// Nothing is loaded: a $ref to anything but the schema itself and the draft's own
// meta-schemas is refused. As the draft says, format and content keywords are annotations
// and refuse nothing.
//
// # Bounds
//
// A schema has at most [MaxBytes], [MaxDepth] and [MaxSubschemas]. Its patterns have at
// most [MaxPattern] bytes each, in the syntax of package regexp, which takes linear time.
// No value is checked against more than [MaxEvaluated] subschemas. A body nests at most
// [MaxDepth] deep and has at most [MaxValues] values, and its numbers have at most
// [MaxDigits] digits. The body's length bounds the number of steps of a check, for any
// schema; a body that needs more violates the rule "cost". If a name occurs twice in an
// object, the last one is checked.
package schema

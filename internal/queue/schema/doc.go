// Package schema checks bodies of messages against JSON Schemas of the draft
// 2020-12, both of which may have been written by somebody hostile.
//
// A schema stands for itself: nothing is loaded, so that a $ref to anything but
// the schema itself and the draft's own meta-schemas is refused. As the draft
// says, format and content keywords are annotations and refuse nothing.
//
// # Bounds
//
// A schema has at most [MaxBytes], [MaxDepth] and [MaxSubschemas], its patterns
// [MaxPattern] bytes each, in the syntax of package regexp, which takes linear
// time, and no value is held against more than [MaxEvaluated] subschemas. A body nests at most [MaxDepth] deep and has at most [MaxValues] values
// and numbers of [MaxDigits]. A check takes a number of steps that the body's length
// bounds, whatever schema and body make of each other; a body that needs more
// violates the rule "cost". Of a name that occurs twice in an object the last one is checked.
package schema

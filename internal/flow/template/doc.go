// Package template fills in the templates of flows. Templates have the language of text/template, whose parser it uses;
// this package only executes what the parser returns.
//
// It exists because text/template looks up methods by name. Go's linker cannot tell which methods such a lookup finds, so it
// keeps every exported method of the program, about a sixth of the binary.
//
// # Guarantees
//
//   - A template gives the result that text/template gives with missingkey=error, and fails where that fails. The error names
//     the line, the expression and what is missing in the same form. A test compares the two over random templates and data.
//   - The result, and every text on the way to it, is at most [MaxBytes] long. A template takes at most [MaxSteps] steps, and
//     templates call each other at most [MaxDepth] deep.
//
// # Not guaranteed
//
//   - Only times, and what times return (months, weekdays, durations, locations), have methods. Other values have fields if
//     they are maps. Structs, channels and iterators have neither.
//   - The function call finds nothing to call, because data has no functions.
package template

// Package cost defines the terms for the cost of a query: what is measured (Predictor), how
// much of it was found and where (Measure), and what is known about the data (Hints).
//
// Readers, one per query language, convert a Query to Measures. Package guard compares
// Measures with limits. A reader never judges and the guard never reads a query; this
// package is all they share.
//
//	query ──► Reader.Read ──► []Measure ──► guard: limits, class ──► verdict
//	              ▲                                      │
//	              └──── again, with Explain: where, why ─┘ only when a limit is passed
//
// # Guarantees of a reader
//
//   - One pass, in time linear in the length of the query; nesting, bytes and
//     tokens are bounded by Options, whatever the query says.
//   - No allocation when Explain is false, apart from growing the slice that it
//     appends to. A reader may be used again, but by one goroutine at a time.
//   - The same query with the same options and hints gives the same measures in
//     the same order, with Explain and without. Explain only fills in Path,
//     Detail and Target. So the engine may explain measure 7 of the first pass
//     with measure 7 of the second.
//   - A query that it cannot read gives an *Unreadable, never a panic and never
//     a guess that it costs nothing.
//
// # Not guaranteed
//
// A measure is a prediction from the text of a query and from hints, not from
// the data. Units differ between predictors: each constant names its own.
package cost

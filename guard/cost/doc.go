// Package cost holds the words in which the cost of a query is told: what was
// measured (Predictor), how much of it was found and where (Measure), and what
// is known of the data beforehand (Hints).
//
// Readers, one for each query language, turn a Query into Measures. The engine
// of package guard compares Measures with limits. A reader never judges, and
// the engine never reads a query: this package is all that they share.
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

// Package guard says what a query will cost before the backend sees it, and
// holds that against limits: for Elasticsearch and OpenSearch, SQL, GraphQL and
// regular expressions.
//
//	            reader of its kind         rules of its class
//	query ──► measures: agg_product ──► limits × dial × load ──► verdict
//	             = 100000 …     ▲                                  │
//	                            │                                  ├─ accept
//	                      hints (cardinality,                      ├─ report  goes on; counted
//	                       ranges, sizes)                          ├─ cap     goes on, lowered
//	                                                               └─ reject  with value, limit, place, fix
//
// A [Guard] is made of a [Config]; [Guard.Check] judges one query. Package
// guard/cost has the words, one package each reads a language: guard/elastic,
// guard/sql, guard/graphql, guard/redos.
//
// # Which rule decides
//
// [Profile.Rules] lie below, the rules of [Limits] above them. Of the rules on a
// predictor the most specific decides: one of the limits before a default, then
// one for the caller's class before one for a class that it inherits from,
// before one for all; then the longer index pattern; then one for a kind. Rules
// that are equally specific all apply, and the harshest action counts: so a
// report at 1000 and a reject at 10000 can stand side by side. A query for
// several indices is held against the rules for each, and a pattern against
// every rule that is about a part of it, so that * escapes none.
//
// A limit that a query breaks is multiplied by the dials (of the limits, of the
// class, of [Guard.SetDial]) and, under load, shrunk towards LoadFloor. Flags
// have nothing to multiply, and limits on degrees and unjoined tables stay.
//
// # Guarantees
//
//   - Time is linear in the length of a query, and memory is bounded, whatever
//     the query says. A query that is accepted costs no allocation.
//   - What cannot be read is not waved through in silence: the rules on
//     unparsable and encoding decide (for SQL and regular expressions the
//     default is to report, for the others to reject).
//   - A field without hints has the cardinality and range of Limits.Assume, and
//     is never taken to be free.
//   - Limits change as a whole, between two queries. Each verdict names the
//     version that it was made with, and each finding the rule.
//   - A cap edits a copy: the query that was passed in stays.
//
// # Not guaranteed
//
// A value is a prediction from the text, not from the data. Shapes and callers
// beyond Config.MaxShapes and MaxCallers are counted together or not at all.
// Counters are of this process and are lost with it.
//
// # Cost units
//
// Verdict.Cost is for quotas: 1 for each query, and for each measure its value
// over the price of its predictor: 1000 hits, buckets, histogram steps, cells or
// skipped rows, 100 clauses, fields, shards or list values, 100 000 distinct
// values or documents, a MiB of text cost one unit each; a leading wildcard, a script, a
// condition that no index serves cost twenty. No measure costs more than 1000
// units, no query more than 100 000.
package guard

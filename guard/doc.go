// Package guard predicts the cost of a query before the backend sees it, and compares the
// prediction with limits. It supports Elasticsearch and OpenSearch, SQL, GraphQL and
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
// [New] creates a [Guard] from a [Config]; [Guard.Check] judges one query. Package
// guard/cost defines the terms. One package per language reads queries: guard/elastic,
// guard/sql, guard/graphql, guard/redos.
//
// # Which rule decides
//
// The rules of [Limits] take precedence over [Profile.Rules]. Among the rules on a
// predictor, the most specific one decides. The criteria, in this order: a rule of the
// limits before a default; the caller's class before a class that it inherits from, before
// all classes; the longer index pattern; a rule for one kind before a rule for all. Equally
// specific rules all apply, and the strictest action counts: so you can combine a report at
// 1000 with a reject at 10000. A query for several indices is checked against the rules for
// each. An index pattern in a query is checked against every rule about any part of it, so
// a query for * escapes no rule.
//
// Limits are multiplied by the dials of the limits, of the class and of the overrides. Under
// load they shrink towards LoadFloor. Dials and load do not change flags, limits on degrees
// and limits on unjoined tables.
//
// # Guarantees
//
//   - Time is linear in the length of a query, and memory is bounded, whatever the query
//     contains. Accepting a query allocates nothing.
//   - A query that the guard cannot read does not pass silently: the rules on unparsable
//     and encoding decide. The default is to report SQL and regular expressions, and to
//     reject other kinds.
//   - A field without hints has the cardinality and the range of Limits.Assume.
//   - Limits change as a whole, between two queries. Each verdict contains the version of
//     its limits, and each finding names its rule.
//   - A cap edits a copy: the original query stays unchanged.
//
// # Not guaranteed
//
// A value is a prediction from the text, not from the data. The guard counts shapes and
// callers beyond Config.MaxShapes and MaxCallers together or not at all. Counters belong to
// this process and are lost when it ends.
//
// # Cost units
//
// Verdict.Cost is meant for quotas. It is 1 for each query, plus, for each measure, the
// value divided by the price of its predictor. One unit pays for 1000 hits, buckets,
// histogram steps, cells or skipped rows; for 100 clauses, fields, shards or list values;
// for 100 000 distinct values or documents; or for one MiB of text. A leading wildcard, a
// script, or a condition that no index can serve costs twenty units. One measure costs at
// most 1000 units, and one query at most 100 000.
package guard

// Package elastic reads requests to Elasticsearch and OpenSearch and measures
// what they will cost: how many buckets, hits, clauses, terms, states, seconds.
// It is pure, and height 1: words come from package cost, verdicts from guard.
//
//	path, URL ──► endpoint ──► body, or what the URL or a template hides in it
//	                              │ scan: one pass, offsets, no recursion
//	                              ▼
//	                            tape ──► query: clauses, patterns, ranges, boxes
//	                              │                     │ what is left of the data
//	                              └────► aggregations ◄─┘ buckets multiply downward
//	                                                      and are summed sideways
//
// # Guarantees
//
//   - Linear time and no recursion deeper than Options.MaxDepth (1000), which is
//     counted before anything is walked. Bytes are bounded by MaxBytes (16 MiB),
//     nodes by MaxTokens (2 million). No regular expression of a request runs.
//   - What Jackson accepts in front of Elasticsearch is accepted here: comments, a
//     byte order mark, escaped keys. Duplicate keys are measured and then refused,
//     as the backend does: two readers could disagree on which one counts.
//   - Nothing is hidden by an encoding: gzip, deflate, base64 of a wrapper query,
//     escapes, source= and q= in the URL, and templates with their parameters
//     are decoded, each to a bound; YAML, CBOR and SMILE are refused
//     as [cost.Encoding]. Numbers and times are read in every form that the
//     backend reads; what is there and cannot be read is unbounded.
//   - Unknown kinds of queries and aggregations are walked for what is known
//     inside them. They are never an error.
//   - Measures come in the same order with and without Explain, and without it
//     nothing is allocated once a Reader is warm.
//
// # Limits
//
// It knows the data only from hints. Where there are none it assumes what
// [cost.Defaults] says, and says so in Detail; histograms whose span is assumed
// count as at most 400 buckets all together when they are multiplied with others,
// so that only what is known to be large is called large. What is stored in the backend
// (templates and scripts by id, saved searches) is not visible: it is reported as
// [cost.StoredTemplate].
//
// # How numbers are found
//
// Buckets: terms, composite and the like count as their size, or the cardinality
// of their field if that is less; ranges and filters as they are listed; an
// adjacency matrix of n filters n(n+1)/2. Histograms: span / interval, where the
// span is that of hard_bounds, else of the range filters on the same field that
// every document must pass (through bool, constant_score, filter aggregations …,
// not post_filter, which aggregations do not see), else of the hints; and
// extended_bounds add to it. Grids: 32^p, 4^z and 122·7^r cells times the share of
// the earth that bounds and filters leave.
//
// Regular expressions are judged as Lucene runs them, as automata: by length, by
// counted repeats, and by the doubling that a counted wide atom behind a loop
// brings. Leading wildcards read every term of a field. Those of analyzers, and of
// Grok, run on engines that try one way after the other: package redos judges them,
// for a bounded time in each request.
package elastic

// Package elastic reads requests to Elasticsearch and OpenSearch and measures their cost:
// buckets, hits, clauses, terms, automaton states, seconds. It has no state besides its
// buffers. Package cost defines the terms; package guard decides.
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
//   - Reading takes linear time. The recursion depth is at most Options.MaxDepth (1000), and
//     the nesting is checked before anything recurses. MaxBytes limits bytes (16 MiB), and
//     MaxTokens nodes (2 million). No regular expression of a request is executed.
//   - The reader accepts what Jackson, Elasticsearch's JSON parser, accepts: comments, a
//     byte order mark, escaped keys. Duplicate keys are measured and then refused, as the
//     backend does, because two readers could disagree on which one counts.
//   - Encodings hide nothing: gzip, deflate, base64 of a wrapper query, escapes, source= and
//     q= in the URL, and templates with their parameters are decoded, up to a limit each.
//     YAML, CBOR and SMILE are refused as [cost.Encoding]. Numbers and times are read in
//     every form that the backend accepts. A value that cannot be read counts as unbounded.
//   - The reader descends into unknown kinds of queries and aggregations and measures the
//     known ones inside. Unknown kinds are never an error.
//   - Measures come in the same order with and without Explain. Without Explain, a warm
//     Reader allocates nothing.
//
// # Limits
//
// The reader knows the data only from hints. Without hints it uses [cost.Defaults], and
// says so in Detail. When histograms with assumed spans are multiplied with other buckets,
// all of them together count as at most 400, so that only queries that are known to be
// large are called large. Objects stored in the backend (templates and scripts by ID, saved
// searches) are not visible; they are reported as [cost.StoredTemplate].
//
// # How numbers are computed
//
// Buckets: terms, composite and similar aggregations count as their size, or as the
// cardinality of their field if that is less. Ranges and filters count as listed. An
// adjacency matrix of n filters counts as n(n+1)/2. Histograms count as span / interval.
// The span is that of hard_bounds; otherwise of the range filters on the same field that
// every document must pass (through bool, constant_score, filter aggregations …, but not
// post_filter, which aggregations ignore); otherwise of the hints. extended_bounds add to
// it. Grids count as 32^p, 4^z or 122·7^r cells, times the share of the earth within bounds
// and filters.
//
// Regular expressions are judged as Lucene runs them, as automata: by length, by counted
// repeats, and by the doubling of states that a counted wide atom after a loop causes.
// Leading wildcards read every term of a field. Expressions of analyzers and of Grok run on
// backtracking engines; package redos judges them, for a limited time per request.
package elastic

// Package graphql reads GraphQL requests and measures what they will cost: how
// deep, how many fields, aliases, directives, tokens, nodes. It is pure, and
// height 1: words come from package cost, verdicts from guard.
//
//	URL, form, multipart ─┐
//	JSON, batch ──────────┼─► document ──► lex, parse: one pass, no recursion ──► nodes
//	application/graphql ──┘      ▲                                                  │
//	                             └─ variables, defaults            from the last to the first:
//	                                                               depth, cost, nodes … of each
//
// # Guarantees
//
//   - Linear time. Fragments count at each use, but each is weighed once, so
//     that fragments that spread fragments twice each (a bomb) take no longer
//     than others; their cost doubles until it is unbounded. A fragment that
//     spreads itself is refused. Nothing recurses.
//   - Bytes are bounded by Options.MaxBytes (16 MiB), tokens of all documents of
//     a request by MaxTokens (50 000), nesting of selections and of values by
//     MaxDepth (500), members of a batch by 1000.
//   - No schema is needed, and measures come in the same order with and without
//     Explain. Without it nothing is allocated once a Reader is warm.
//   - It takes the documents that the language allows, and no others: gqlparser
//     takes the same, except for what the test says that holds the two together.
//   - What servers could read in two ways is refused or counted both ways: a
//     member of the request that comes twice (also in another case, as servers in
//     Go take it), a query in the URL beside one in the body, two values of one
//     variable. Compressed bodies are refused as [cost.Encoding].
//
// # Limits
//
// It does not check a document against a schema: what a server refuses may be
// accepted here. A persisted query is not visible: it is reported as
// [cost.StoredTemplate]. Without a schema it cannot know that a field is a list,
// apart from the signs below.
//
// # How numbers are found
//
// A leaf costs 1, an object 2 and one and a half times what is in it, both times
// the length of the list that the field asks for; the operation is an object.
// That is the formula of graphql-armor, with the multiplier added; fragments are
// transparent. Nodes are counted as GitHub does: each list adds the product of
// its length and of those around it.
//
// The length of a list is the greatest of the arguments first, last, limit, take,
// pageSize, page_size, perPage, per_page, maxResults and max_results, also within
// one named pagination, paging, page, paginate or options; variables are looked
// up. At the root of a mutation, where limit may be what is written, only first
// and last count. A field that asks for edges or nodes, or that hints know
// as a field of the index "graphql" with a cardinality, is a list without
// arguments too, of that cardinality or [DefaultList].
//
// Of several operations the one that operationName names counts, or the worst of
// all. Introspection is reported as [cost.ExpensiveClass] and adds nothing to
// depth and cost, as long as it nests fewer than three of its lists; so the query
// that every tool sends passes, and one that goes round in circles does not.
package graphql

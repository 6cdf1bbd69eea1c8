// Package graphql reads GraphQL requests and measures their cost: depth, fields, aliases,
// directives, tokens and nodes. It has no state besides its buffers. Package cost defines
// the terms; package guard decides.
//
//	URL, form, multipart ─┐
//	JSON, batch ──────────┼─► document ──► lex, parse: one pass, no recursion ──► nodes
//	application/graphql ──┘      ▲                                                  │
//	                             └─ variables, defaults            from the last to the first:
//	                                                               depth, cost, nodes … of each
//
// # Guarantees
//
//   - Reading takes linear time. A fragment counts at each use, but is weighed once. So
//     fragments that spread other fragments twice (a bomb) take no more time than others;
//     their cost doubles until it is unbounded. A fragment that spreads itself is refused.
//     No function recurses.
//   - Limits: Options.MaxBytes for bytes (16 MiB), MaxTokens for the tokens of all documents
//     of a request (50 000), MaxDepth for the nesting of selections and values (500), and
//     1000 members of a batch.
//   - No schema is needed. Measures come in the same order with and without Explain.
//     Without Explain, a warm Reader allocates nothing.
//   - The reader accepts the same documents as gqlparser. The differential test lists the
//     exceptions.
//   - Input that servers may read in two ways is refused or counted both ways: a duplicate
//     member of the request (also in another case, which servers in Go accept), a query in
//     the URL beside one in the body, two values of one variable. Compressed bodies are
//     refused as [cost.Encoding].
//
// # Limits
//
// The package does not check a document against a schema: it may accept a request that a
// server rejects. A persisted query is not visible; it is reported as
// [cost.StoredTemplate]. Without a schema, the package recognizes lists only by the signs
// below.
//
// # How numbers are computed
//
// A leaf costs 1. An object costs 2 plus one and a half times the cost of its content. Both
// are multiplied by the length of the list that the field requests. The operation itself is
// an object. This is the formula of graphql-armor, with the multiplier added; fragments are
// transparent. Nodes are counted as GitHub does: each list adds the product of its length
// and the lengths of the lists around it.
//
// The length of a list is the greatest of the arguments first, last, limit, take, pageSize,
// page_size, perPage, per_page, maxResults and max_results. They may also be in an argument
// named pagination, paging, page, paginate or options. Variables are resolved. At the root
// of a mutation only first and last count, because there limit may be a value to write. A
// field without such arguments is a list too if it requests edges or nodes, or if hints
// give it a cardinality as a field of the index "graphql". Its length is that cardinality,
// or [DefaultList].
//
// If there are several operations, the one that operationName selects counts, or the worst
// one without a selection. Introspection is reported as [cost.ExpensiveClass]. It adds
// nothing to depth and cost while it nests fewer than three of its lists: so the standard
// query of tools passes, and a circular one does not.
package graphql

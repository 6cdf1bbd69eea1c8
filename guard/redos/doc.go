// Package redos classifies how the time of matching a regular expression grows with the
// length of the text: linear, polynomial, or exponential. For slow expressions it finds a
// text that proves it. The package has no state.
//
//	                 not readable, too long
//	pattern ── parse ─────────────────────────────────────────► unknown
//	             │                     over the budget              ▲
//	             ▼                                                  │
//	         automaton ── two ways round a loop ──► candidates ─────┤
//	             │        a loop and the next                │      │
//	        none │        a search and a loop                ▼      │
//	             │                           attack: prefix, pump, suffix
//	             │                                           │
//	             ▼          steps do not grow                ▼
//	           safe ◄───────────────────────────────────── matcher
//	                                                         │ steps grow
//	                                                         ▼
//	                                              polynomial, exponential
//
// # Method
//
// The pattern becomes a Glushkov automaton, which keeps different matching paths apart. Its
// states know the kind of the last rune, so anchors, word boundaries and lookarounds over
// one rune are exact. If one word can pass through a loop on two paths, the expression may
// be exponential. If one word can pass through two loops, and also lead from the first to
// the second, it may be polynomial. The tests are those of Weber and Seidl, "On the degree
// of ambiguity of finite automata" (1991), with the products of Allauzen, Mohri and Rastogi
// (arXiv:0802.3254). Their use follows Weideman et al., "Analyzing matching time behavior
// of backtracking regular expression matchers" (2016), and Wüstholz et al., "Static
// detection of DoS vulnerabilities in programs that use regular expressions"
// (arXiv:1701.04045).
//
// Several paths alone are not slow, because an engine stops at the first match. So each
// candidate gets a suffix after which no match has ended or can end. It is found by
// determinizing the automaton as far as necessary. If the shortest pump ends a match, the
// package searches for one that does not. Then it runs the attack with an increasing number
// of pumps on a backtracking matcher that counts steps. This avoids false alarms where the
// automaton has more paths than the engine: with atomic groups, possessive repeats,
// backreferences, wider lookarounds, and counted repeats that became loops. The matcher
// caches the outcome of each branch, so that it counts steps without executing all of them.
// If the whole pattern is too large, the package analyzes its loops one by one, and runs
// the attacks it finds on the whole pattern.
//
// # Guarantees
//
// A Polynomial or Exponential result is Confirmed: its [Witness] was run, and the number of
// steps grew accordingly. The analysis is deterministic. It ends within Options.Budget
// steps and uses at most some tens of megabytes, whatever the pattern. The recursion depth
// is limited by the allowed nesting of groups.
//
// # Limits
//
// Safe means that the analysis found no attack. It may miss a text that is slow only
// because of a construct beyond automata. Alternatives are merged as in CPython and .NET,
// but not as in V8, because JavaScriptCore does not merge them. Balancing groups are parsed
// but not modelled. Recursion, backtracking verbs and lookbehinds over long texts lead to
// Unknown, unless an attack is found without them. Engines have optimizations that the
// matcher lacks. So a result may be too strict for an engine that remembers failed
// positions (Ruby since 3.2, Java for some loops) or checks for a required character first
// (Perl).
//
// The engines of [RE2], [Lucene] and [Postgres] do not backtrack. (Postgres does for
// backreferences, and is judged accordingly.) For them, Result.States and Result.Repeat
// give the size of their automata.
package redos

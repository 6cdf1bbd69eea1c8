// Package redos tells how long a regular expression may take: linear in the
// text, polynomial, or exponential, with a text that proves it. It is pure.
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
// # How
//
// The pattern becomes Glushkov's automaton, in which different ways stay
// different, and whose states know the kind of the rune just read, so that
// anchors, word boundaries and lookarounds over one rune are exact. A loop that
// one word goes round in two ways is exponential; two loops that one word goes
// round in, and leads from the one to the other, are polynomial. The tests are
// those of Weber and Seidl, "On the degree of ambiguity of finite automata"
// (1991), by the products of Allauzen, Mohri and Rastogi (arXiv:0802.3254), and
// the use made of them is that of Weideman et al., "Analyzing matching time
// behavior of backtracking regular expression matchers" (2016), and Wüstholz et
// al., "Static detection of DoS vulnerabilities in programs that use regular
// expressions" (arXiv:1701.04045).
//
// Ways alone are not slow: an engine that finds a match stops. So each candidate
// gets a suffix after which no match has ended or can, found by determinising as
// far as is needed; if the shortest pump ends a match, one that does not is
// searched. Then the attack is run with more and more pumps on a backtracking
// matcher that counts its steps. Where the automaton has more ways than the
// engine (atomic groups, possessive repeats, backreferences, wider lookaround,
// counted repeats taken for loops), that is what keeps false alarms out. The
// matcher remembers what comes after each branch, so that it counts steps without
// taking each of them. Where the whole is too large, loops are judged one by one,
// and attacks on them run on the whole.
//
// # Guarantees
//
// A Polynomial or Exponential result is Confirmed: its [Witness] was run, and
// the steps grew. The analysis is deterministic and ends within Options.Budget
// steps, and memory is bounded by some tens of megabytes, whatever the pattern.
// Recursion goes no deeper than groups may nest.
//
// # Limits
//
// Safe means that nothing was found: a text that only a construct beyond
// automata makes slow may be missed. Alternatives are merged as CPython and
// .NET merge them, and not as V8 does, since JavaScriptCore does not. Balancing groups are read and not followed;
// recursion, backtracking verbs and lookbehinds over long texts lead to Unknown
// unless something is found without them. Engines have optimisations that the matcher has not: a result
// may be too strict for one that remembers where it has failed (Ruby from 3.2
// on, Java for some loops) or looks for a required character first (Perl).
//
// The engines of [RE2], [Lucene] and [Postgres] do not backtrack (Postgres does
// for backreferences, and is judged so). For them Result.States and
// Result.Repeat say how large their automata become.
package redos

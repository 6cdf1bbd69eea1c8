// Package quota counts the use of each caller and refuses use above a limit.
//
// A [Limiter] holds quotas. A quota limits every key separately, over a sliding window or
// as a token bucket (policy/rate describes how they count, and how exactly).
// [Limiter.Admit] charges several quotas at once or none of them, and names the one that
// refuses. [Limiter.Add] counts amounts that are known only afterwards, such as bytes
// sent and cost. Keys are keyed hashes that the caller makes,
// of a header, a claim, an address, a route or several of these.
//
// # Keys
//
//	             first charge                        nothing counts any more,
//	┌─────────┐ ─────────────► ┌───────┐ ──────────► swept within 8 s
//	│ unknown │                │ known │
//	└─────────┘ ◄───────────── └───────┘
//	     │        least used of some (below half its limit),
//	     │        when a newcomer needs the room
//	     ▼
//	no room, all of those use half their limit or more:
//	shares one of 64 states with other newcomers
//
// Memory is bounded whatever arrives: MaxKeys keys a quota, at 40 to 80 bytes
// each, key and table included, for up to 3 buckets or 1 that is shared; every
// further bucket takes 10 to 12 bytes more, a shared one 20 to 23. (Tables of
// few keys waste some more, up to a memory page each.) A flood of new keys takes the
// space of idle keys first and then of other new keys. A key that uses half of the limit
// or more is never forgotten for a new key, and a new key is never unlimited. The
// comparison uses the unscaled limit: scaling it down for a key does not protect the key
// sooner.
//
// # Many nodes
//
// Shared quotas are counted over all processes with the same store. Each process decides
// at once, from the last total that it has read and its own count since; it never waits
// for the store. Every Flush, [Limiter.Run] sends what it
// has counted, in batches that add to rows of the store, and reads the totals in
// the same round trip. A window is a row a bucket; a token bucket is a row that
// holds when it is full again, which a batch moves on by what was taken. Both
// go by the store's clock: nodes' clocks may differ.
//
// n nodes admit at most the limit (and the error of the window), plus the amount that
// the other nodes admit in twice the interval and round trip:
//
//	(n-1) × rate of a node × 2 × (Flush + round trip)
//
// For nodes that are equally busy, half of that was measured: 4 % of a limit
// that takes 3.3 s to use up, at 200 ms. And it is never more than n times the
// limit: a node that has not asked yet believes it is alone.
//
// If the store is down or slow, decisions use the last totals and the node's own counts.
// The outage is logged once and counted in [Stats]. When the store is back, nodes send
// the counts of the outage that are still in the window. A batch whose answer was lost is sent again under its
// number, and is added once. When the store loses its rows, nodes take up their
// own counts again, and the others' are forgotten.
//
// # Limits
//
// It is no billing: what is counted since the last flush is lost with a process
// that is killed, as are the counts of a key that is evicted. Charges of a
// refused request are not counted: who asks on and on is refused, not punished.
//
// # Clocks
//
// A time with a monotonic reading, as from time.Now, does not step back. For
// others, and for the store's clock, package rate says why steps are harmless.
package quota

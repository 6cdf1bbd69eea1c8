// Package outage tells an outage from poison: when many different payloads fail
// alike it is not the payloads. It is pure: the time is an argument, and the
// caller holds the lock.
//
//	┌─────────┐  one failure, over ≥ max(Least, Share) distinct payloads   ┌────────┐
//	│ running │ ─────────────────────────────────────────────────────────► │ paused │ for Pause·2^(level-1),
//	└─────────┘                  level + 1                                 └────────┘ at most Cap
//	     ▲                                                                  │      ▲
//	     │                                              time is over, first │      │ it failed, in
//	     │                                                 Canary: it sends │      │ whatever way:
//	     │                                                              one ▼      │ level + 1
//	     │                        it worked                           ┌─────────────┐
//	     └─────────────────────────────────────────────────────────── │ canary out  │ ◄─┐ lost, or not
//	                                                                  └─────────────┘ ──┘ back in time
//
// Each arrow begins a new generation; a canary's result counts in its own one
// alone.
//
// # When it trips
//
// Of the distinct payloads that ended within the last Window, good ones
// included, at least Share ended in the same failure, and these are at least
// Least. A payload counts once, as it ended last: a poison payload that is sent
// again a thousand times is one, and one that failed and then worked is good. A
// payload without a fingerprint counts by the id that the caller gives, that of
// its message, say. A failure that nobody identified ("") is never like another.
//
// Which classes of failure count is the caller's choice: malformed work
// ([bezoar.Invalid]) fails alike without an outage, and whoever can send it could
// pause the queue. What does not count at all is best not told; what ended, but
// not in a failure of interest, is told as a failure "".
//
// # Duties of the caller
//
// While [Guard.Paused], deliver nothing but what [Guard.Canary] allows: one
// message, of a payload that is not suspect and, after a canary that failed,
// another one. Keep the generation it returns with that delivery and tell
// [Guard.Returned] how it ended. Do not count an attempt whose failure
// [Guard.Excuses], and give back those within Trip.Since that failed with
// Trip.Failure.
//
// # Sharing
//
// A [Snapshot] is what the processes that serve one queue have in common; what
// ended is counted by each for itself. Merge takes the newer of two and is
// commutative, associative and idempotent. When a method reports a change, and
// every second or so, let a store that can compare and swap bring them together:
//
//	for {
//		stored, version := store.Get(queue)
//		g.Merge(now, stored)
//		mine := g.Snapshot()
//		if mine == stored || store.Swap(queue, version, mine) {
//			break
//		}
//	}
//
// For one canary among all, swap before delivering it, and concede if another
// process was faster:
//
//	if generation, ok := g.Canary(now); ok && !store.Swap(queue, version, g.Snapshot()) {
//		stored, version = store.Get(queue)
//		g.Concede(now, generation, stored)
//	}
//
// # Bounds
//
// A guard keeps a sample of at most 640 payloads (24 KiB, from the first result
// on), whatever arrives. Up to 512 distinct payloads in a window it is all of
// them and the arithmetic is exact. Beyond, it is those whose hash is below a
// threshold, which halves as often as necessary: an even share of all payloads,
// at least 256 when it has just been halved, so that shares are right within a
// few percent points. Nothing is evicted by anything else's arrival: the
// fingerprint alone decides whether a payload is in the sample, and it is keyed,
// so that a flood of failures or payloads can thin the sample out but cannot
// choose what is left of it. When the traffic collapses by orders of magnitude a
// thinned sample needs up to two windows to let enough in again; until then the
// guard sees less, and does not trip.
//
// Succeeded takes constant time, amortised; Failed looks at the whole sample, in
// about a microsecond. However far the clock steps, no pause lasts longer than
// Cap.
package outage

// Package outage tells an outage from poison: if many different payloads fail in the same
// way, the payloads are not the cause. It is pure: the time is an argument, and the
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
// Each arrow begins a new generation. The result of a canary counts only in its own
// generation.
//
// # When it trips
//
// The guard looks at the distinct payloads that ended within the last Window, including
// good ones. It trips if at least Share of them, and at least Least, ended in the same
// failure. A payload counts once, by its last end: a poison payload that is sent a
// thousand times is one, and a payload that failed and then worked is good. A payload
// without a fingerprint counts by an id from the caller, for example that of its message.
// A failure without a name ("") never equals another.
//
// The caller chooses which classes of failure count. Malformed work ([bezoar.Invalid])
// fails in the same way without an outage, and its sender could pause the queue. Do not
// report ends that should not count at all; report an end that is no failure of interest
// as the failure "".
//
// # Duties of the caller
//
// While [Guard.Paused], deliver only what [Guard.Canary] allows: one message, of a
// payload that is not suspect. After a canary that failed, take another payload. Keep the
// generation that Canary returns with that delivery, and tell [Guard.Returned] how it
// ended. Do not count an attempt whose failure [Guard.Excuses], and give back the
// attempts within Trip.Since that failed with Trip.Failure.
//
// # Sharing
//
// The processes that serve one queue share a [Snapshot]. Each process counts ends for
// itself. Merge takes the newer of two snapshots and is commutative, associative and
// idempotent. When a method reports a change, and every second or so, merge with a store
// that can compare and swap:
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
// To have one canary in all processes, swap before you deliver it, and concede if another
// process was faster:
//
//	if generation, ok := g.Canary(now); ok && !store.Swap(queue, version, g.Snapshot()) {
//		stored, version = store.Get(queue)
//		g.Concede(now, generation, stored)
//	}
//
// # Bounds
//
// A guard keeps a sample of at most 640 payloads (24 KiB, from the first result on). Up
// to 512 distinct payloads in a window the sample is complete and the arithmetic exact.
// Above that the sample holds the payloads whose hash is below a threshold, which halves
// as often as necessary. It is an even share of all payloads, at least 256 just after a
// halving, so that shares are right within a few percentage points. Only the fingerprint
// decides whether a payload is in the sample, and fingerprints are keyed: a flood of
// failures or payloads can thin the sample out, but cannot choose what stays. If the
// traffic falls by orders of magnitude, a thinned sample needs up to two windows to fill
// again; until then the guard sees less and does not trip.
//
// Succeeded takes constant time, amortised. Failed examines the whole sample, in about a
// microsecond. However far the clock steps, no pause lasts longer than Cap.
package outage

// Package breaker decides when to stop calling a downstream that fails, and
// when to try it again. It is pure: the time and randomness are arguments, and
// the caller holds the lock.
//
//	             a rule breaks: level + 1
//	┌────────┐ ─────────────────────────────► ┌──────┐  refuses for Open·2^(level-1),
//	│ closed │                                │ open │  at most MaxOpen
//	└────────┘                                └──────┘
//	    ▲                                      │    ▲
//	    │ all Probes      time is over and     │    │ a probe failed, was slow or
//	    │ succeeded       a call comes         │    │ overdue: level + 1
//	    │               ┌───────────┐ ◄────────┘    │
//	    └────────────── │ half-open │ ──────────────┘
//	                    └───────────┘ ◄─┐
//	                          └─────────┘ the lease is over and no probe is out
//
// Each arrow begins a new generation. An operator's [Breaker.Force] overrides the state
// until it expires.
//
// # Rules
//
// Over the last Window: FailureRatio and SlowRatio, from MinVolume results on; and
// Consecutive failures in a row, for any volume. A gap of more than Window breaks a row.
// A half-open breaker hands out at most Probes calls until they have succeeded. A probe
// that fails, or is slow while SlowRatio is on, opens it again. The level decides how
// long the next trip lasts; it is reset when the breaker has been closed for MaxOpen.
//
// # Counting
//
// A breaker counts results, not calls in flight. A call that hangs counts as failed and
// slow when its caller's deadline ends it. Deadlines are enforced from outside, so this
// delay is bounded, and a lost ticket costs nothing while the breaker is closed. A probe
// that hangs would hold its slot, so it counts as failed after ProbeFor.
//
// A result with Ignored does not count, and frees a probe's slot. Use it for poison (all
// failures of a request but the first), interrupted work, streams that have begun and
// callers who gave up: they say nothing about the downstream.
//
// A result of an older generation changes nothing: a call that was sent before a trip
// and fails after it neither prolongs the trip nor counts as a probe.
//
// # Sharing
//
// The processes that call one downstream share a [Snapshot]. They do not share the
// window, so each trips on its own results. Merge takes the newer of two snapshots: the
// higher generation, and within one generation open before half-open before closed. It is
// commutative, associative and idempotent, so snapshots may be lost, repeated and
// reordered. Give every process its own Config.Node. Merge with a store that can compare
// and swap every second or so, and whenever Decision.Changed or the result of Done asks
// for it:
//
//	for {
//		stored, version := store.Get(name)
//		b.Merge(now, stored)
//		mine := b.Snapshot()
//		if mine == stored || store.Swap(name, version, mine) {
//			break
//		}
//	}
//
// Half-open is a lease that one node holds: the others refuse until it is over. A
// decision with Probe and Changed claims it. Swap before you send, and concede if another
// node was faster:
//
//	ticket, d := b.Allow(now)
//	for d.Probe && d.Changed && !store.Swap(name, version, b.Snapshot()) {
//		stored, version = store.Get(name)
//		b.Concede(now, ticket, stored)
//		ticket, d = b.Allow(now)
//	}
//
// The first probe of a claim goes alone, so that no other call is sent before the claim
// is stored. The other probes follow when it has succeeded. A breaker without a Node
// needs no claim and sends all probes at once.
//
// If the store cannot be reached, each node probes for itself. If the holder of the lease
// dies, the next caller gets the lease after ProbeFor, at the same level.
//
// # Bounds
//
// A breaker takes about 600 bytes. Allow and Done allocate only when they change the
// state, for the text of the reason. However far the clock steps, no refusal of the
// breaker itself lasts longer than MaxOpen or ProbeFor.
package breaker

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
// Each arrow begins a new generation. An operator's [Breaker.Force] lies over
// all that until it expires.
//
// # Rules
//
// Over the last Window: FailureRatio and SlowRatio, from MinVolume results on;
// and Consecutive failures in a row, whatever the volume; a gap of more than
// Window breaks a row. A half-open breaker
// hands out Probes calls at most, until they have succeeded; one that fails, or
// is slow while SlowRatio is on, opens it again. The level, and with it the time
// of the next trip, is forgotten when the breaker has been closed for MaxOpen.
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
// A [Snapshot] is what the processes that call one downstream have in common;
// the window is not, so each trips on what it has seen itself. Merge takes the
// newer of two: the higher generation, open before half-open before closed in
// the same one. It is commutative, associative and idempotent, so snapshots may
// be lost, repeated and reordered. Give every process its own Config.Node, and
// whenever Decision.Changed or the result of Done says so, and every second or
// so, let a store that can compare and swap bring them together:
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
// Half-open is a lease that one node holds: the others refuse until it is over.
// A decision with Probe and Changed claims it. Swap before sending, and concede
// if another node was faster:
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
// A breaker is about 600 bytes, whatever comes. Allow and Done allocate only
// when they change the state, for the reason they give. However far the clock
// steps, no refusal of the breaker's own lasts longer than MaxOpen or ProbeFor.
package breaker

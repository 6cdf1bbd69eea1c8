// Package ledger holds what one fleet knows about failing work: every attempt, recorded
// before its first byte leaves, the end of every epoch, and the verdicts. It adds a lock,
// a clock, a [Store] and a [Journal] to the pure decisions of policy/blame, whose package
// comment draws the states.
//
//	Admit ──► Begin ──► (answer) ──► End ──► Close
//	            │
//	            └─► epoch ends ──► Ended ──► Finding ──► Conclude ──► Close
//
// # Guarantees
//
// Admit, Begin, End and Close together allocate nothing and take well under a
// microsecond. When [Ledger.Ended] returns, the blame is shared out and the verdicts are
// stored. A failing store does not stop the service: after the first write that fails or
// takes longer than 2 s, no call waits for the store. [Ledger.Run] writes everything when
// the store works again.
// # Bounds
//
// [blame.Config] bounds suspects and convicts, remembered successes, watched shapes and
// the evidence in memory. The store bounds letters. Letters of refused copies have a
// queue of 1,024 and a rate of 100 per second.
//
// All methods are safe for concurrent use. The call that made a decision calls
// Config.Observe, with one event at a time.
package ledger

// Package ledger holds what one fleet knows about failing work: every attempt, recorded
// before its first byte leaves, the end of every epoch, and the verdicts. It adds a
// lock, a clock, a [Store] and a [Journal] to the pure decisions of policy/blame, whose
// doc draws the states.
//
//	Admit ──► Begin ──► (answer) ──► End ──► Close
//	            │
//	            └─► epoch ends ──► Ended ──► Finding ──► Conclude ──► Close
//
// # Guarantees
//
// Admit, Begin, End and Close together allocate nothing and take well under a
// microsecond. When [Ledger.Ended] returns, the blame is shared out and the verdicts are
// stored. A store that fails stops persistence, not service: after the first write that
// fails or takes longer than 2 s no call waits for the store, and [Ledger.Run] writes
// everything when the store is back.
//
// # Bounds
//
// Suspects and convicts, remembered successes, watched shapes and the evidence
// in memory are bounded by [blame.Config]; letters by the store; the letters
// of refused copies by a queue of 1,024 and 100 a second.
//
// All methods are safe for concurrent use. Config.Observe is called from
// whichever call made the decision, one event at a time.
package ledger

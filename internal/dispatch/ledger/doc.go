// Package ledger is what one fleet knows about failing work: every attempt,
// written down before its first byte leaves, every epoch's end, and the
// verdicts that follow. It puts a lock, a clock, a [Store] and a [Journal]
// around the pure decisions of policy/blame, whose doc draws the states.
//
//	Admit ──► Begin ──► (answer) ──► End ──► Close
//	            │
//	            └─► epoch ends ──► Ended ──► Finding ──► Conclude ──► Close
//
// # Guarantees
//
// Admit, Begin, End and Close together allocate nothing and take well under a
// microsecond. [Ledger.Ended] has shared out the blame and stored the verdicts
// by the time it returns. A store that fails costs persistence, never service:
// after the first write that fails or takes longer than 2 s nothing waits for
// it any more, and [Ledger.Run] writes everything when it is back.
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

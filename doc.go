// Package bezoar holds the words that every part of Bezoar shares: the
// [Fingerprint] that identifies work, the [Class] of what happened to it, and the
// [Verdict] passed on it with its [Evidence].
//
// It imports nothing of this module and holds no state. The decisions live in
// policy/…, what is known about failing work in internal/dispatch/ledger, and the
// network in the fronts.
package bezoar

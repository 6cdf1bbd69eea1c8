// Package flowletters shows the dead letters of one flow beside all others: it is a
// [triage.Source] over the store of flows.
//
//	run HELD or RUNNING ──► instances in DEAD_LETTER ──► letters of the queue flow:NAME
//	redrive ──► flow retry, and what became of it          discard ──► flow cancel
//
// Nothing is copied: a letter is there as long as its instance waits for a person.
// What a run holds is read again when the run has changed, and after some seconds
// in any case.
//
// Bad rows of a task are instances in DEAD_LETTER of a run of their own, and are
// shown like all others.
package flowletters

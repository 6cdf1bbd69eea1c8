// Package flowletters shows the dead letters of one flow beside all others: it is a
// [triage.Source] over the store of flows.
//
//	run HELD or RUNNING ──► instances in DEAD_LETTER ──► letters of the queue flow:NAME
//	redrive ──► flow retry, and what became of it          discard ──► flow cancel
//
// Nothing is copied: a letter exists as long as its instance waits for a person. The
// letters of a run are read again when the run has changed, and otherwise after some
// seconds.
//
// Bad rows of a task are instances in DEAD_LETTER of a separate run, and are shown in the
// same way.
package flowletters

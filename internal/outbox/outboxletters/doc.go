// Package outboxletters shows the parked events of one outbox beside all other dead
// letters: it is a [triage.Source] over the outbox's database.
//
//	event PARKED ──► a letter of the queue outbox:NAME
//	redrive ──► retry, and what became of it     edit ──► edit and retry     discard ──► skip
//
// Nothing is copied: a letter is there as long as its event is parked. While the
// database does not answer, lists show what was read last.
package outboxletters

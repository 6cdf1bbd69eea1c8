// Package outboxletters lists the parked events of an outbox together with all other dead
// letters. It is a [triage.Source] over the outbox's database.
//
//	event PARKED ──► a letter of the queue outbox:NAME
//	redrive ──► retry, and what became of it     edit ──► edit and retry     discard ──► skip
//
// Nothing is copied: a letter exists as long as its event is parked. While the database
// does not answer, lists show the events of the last successful read.
package outboxletters

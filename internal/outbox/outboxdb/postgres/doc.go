// Package postgres keeps an outbox in a PostgreSQL database, beside the tables of
// the application.
//
//	producer: write() ──► keys (lock, sequence) ──► events + pending
//	relay:    advance() = fence, settle a flight, claim the next one: one round trip
//
// Every change that a relay makes reads the lease FOR SHARE. A takeover updates the lease,
// so it waits for the change or prevents it. Operators' changes of events lock the lease's
// table for a moment, so that they and the relay never see each other's changes half done.
//
// The statements do not depend on session state, so a pooler that shares sessions between
// transactions may be used. Only LISTEN needs a session of its own; it detects such a
// pooler and reports it.
package postgres

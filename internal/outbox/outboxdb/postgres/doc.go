// Package postgres keeps an outbox in a PostgreSQL database, beside the tables of
// the application.
//
//	producer: write() ──► keys (lock, sequence) ──► events + pending
//	relay:    advance() = fence, settle a flight, claim the next one: one round trip
//
// Every change of a relay reads the lease FOR SHARE, so a takeover, which updates
// it, waits for the change or prevents it. What people do to events locks the
// table of the lease for a moment: they and the relay see each other's changes whole.
//
// Statements need nothing of the session: a pooler that shares sessions between
// transactions may be in between. Only LISTEN needs one, and says so.
package postgres

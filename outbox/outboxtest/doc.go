// Package outboxtest is the suite that every store of an outbox passes: what
// [outbox.Store] says, and that a relay over it loses nothing and keeps the order
// of every key, however transactions commit and relays end.
package outboxtest

// Package outboxtest is the test suite for stores of an outbox. It checks the contract of
// [outbox.Store], and that a relay on the store loses nothing and keeps the order of every
// key, however transactions commit and relays end.
package outboxtest

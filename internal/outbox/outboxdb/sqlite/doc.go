// Package sqlite keeps an outbox in an application's SQLite database, in tables
// whose names begin with the outbox's schema.
//
// Application and relay may be different processes on one machine. SQLite has one writer at
// a time, so positions have the order of commits. The relay's transactions are short. An
// application's write transaction should begin with BEGIN IMMEDIATE and set a busy timeout.
package sqlite

// Package sqlite keeps an outbox in an application's SQLite database, in tables
// whose names begin with the outbox's schema.
//
// Application and relay may be different processes on one machine. SQLite has one
// writer at a time, so positions have the order of commits, and a transaction of
// the relay is short. A transaction of the application that writes should begin
// with BEGIN IMMEDIATE, and have a busy timeout.
package sqlite

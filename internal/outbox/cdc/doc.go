// Package cdc reads what a PostgreSQL database commits, by logical replication.
//
// A [Stream] reads one replication slot with the plugin pgoutput and hands
// transactions to a [Receiver], in the order in which they were committed. It
// confirms a position to the server only when the receiver has said that
// everything before it is durable; until then the server keeps the WAL. Memory is
// bounded: the stream reads a change when the receiver has taken the one before,
// however large a transaction is, and the server waits. Meanwhile a goroutine of
// its own answers the server, so that the connection lasts.
//
// A [Feed] tells the relay of an outbox at once what was committed. It is a fast
// path over a table that is kept: when its slot is lost, nothing is.
//
// A [Capture] writes the changes of plain tables into the outbox of the same
// database as events. It notes how far it is in the same transaction, so that each
// change becomes one event. When its slot is lost, changes are lost; then it stops
// and says which range of the WAL is missing, unless it may copy the tables anew.
//
// [Slots] says what replication slots cost: how much WAL they hold back, why, and
// when that fills the disk.
//
// It does not read TRUNCATE, the schema changes themselves (a change tells the
// columns that its row had), large objects and sequences.
package cdc

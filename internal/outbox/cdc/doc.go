// Package cdc reads the committed changes of a PostgreSQL database by logical replication.
//
// A [Stream] reads one replication slot with the plugin pgoutput and passes transactions to
// a [Receiver], in commit order. It confirms a position to the server only after the
// receiver has declared everything before it durable; until then the server keeps the WAL.
// Memory is bounded, however large a transaction is: the stream reads a change after the
// receiver has processed the previous one, and the server waits. Meanwhile a separate
// goroutine answers the server, so that the connection stays open.
//
// A [Feed] passes committed events to the relay of an outbox at once. It is an
// optimization: if its slot is lost, the relay finds all events in the tables.
//
// A [Capture] writes the changes of ordinary tables into the outbox of the same database as
// events. It stores its progress in the same transaction, so that each change becomes
// exactly one event. If its slot is lost, changes are lost. Then the capture stops and
// reports which range of the WAL is missing, unless it is allowed to copy the tables again.
//
// A [Panel] reports the cost of replication slots: how much WAL they hold back, why, and
// when the disk will be full.
//
// Not supported: TRUNCATE, schema changes as events (each change has the columns that the
// row had at the time), large objects and sequences.
package cdc

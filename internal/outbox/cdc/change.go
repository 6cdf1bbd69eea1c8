package cdc

import (
	"context"
	"time"

	"github.com/jackc/pglogrepl"
)

// LSN is a position in the WAL of a server.
type LSN = pglogrepl.LSN

// Op is what happened to a row.
type Op string

// The operations.
const (
	Insert   Op = "insert"
	Update   Op = "update"
	Delete   Op = "delete"
	Snapshot Op = "snapshot" // the row was there when reading began
)

// Column is a column of a [Relation].
type Column struct {
	Name string
	Type uint32 // OID
	Key  bool   // of the replica identity
}

// Relation is a table as it was when a row of it changed.
type Relation struct {
	Schema, Name string
	Columns      []Column
}

// Value is what a column has.
type Value struct {
	Null bool
	// Unchanged is a large value that an update left as it was. The server does
	// not tell it, unless the table's replica identity is full.
	Unchanged bool
	Text      []byte // in PostgreSQL's text format; for a feed in the binary one
}

// Change is what happened to one row.
type Change struct {
	Relation *Relation
	Op       Op
	Old      []Value // nil: not known. Only key columns when KeyOnly
	KeyOnly  bool
	New      []Value // nil: deleted
}

// Transaction is a committed transaction.
type Transaction struct {
	Commit    LSN // where its commit record begins
	XID       uint32
	Committed time.Time
}

// Receiver takes what a [Stream] reads. A stream calls its methods one at a time.
// The stream reads nothing while one runs, and ends with the error of any.
type Receiver interface {
	Begin(Transaction)
	Change(context.Context, Change) error
	// Commit ends a transaction, or, without a Begin, a part of the WAL that has
	// nothing for the receiver. The receiver calls done once everything before
	// end is durable; at any time, from any goroutine.
	Commit(ctx context.Context, end LSN, done func()) error
	// Due is when Flush is to be called if nothing arrives before. Zero: never.
	Due() time.Time
	Flush(context.Context) error
}

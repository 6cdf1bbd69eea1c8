package cdc

import (
	"context"
	"time"

	"github.com/jackc/pglogrepl"
)

// LSN is a position in a server's WAL.
type LSN = pglogrepl.LSN

// Op is the kind of change of a row.
type Op string

// The operations.
const (
	Insert   Op = "insert"
	Update   Op = "update"
	Delete   Op = "delete"
	Snapshot Op = "snapshot" // the row existed when reading began
)

// Column is a column of a [Relation].
type Column struct {
	Name string
	Type uint32 // OID
	Key  bool   // part of the replica identity
}

// Relation describes a table at the time of a change.
type Relation struct {
	Schema, Name string
	Columns      []Column
}

// Value is the value of a column.
type Value struct {
	Null bool
	// Unchanged marks a large value that an update did not modify. The server omits such
	// values unless the table's replica identity is full.
	Unchanged bool
	Text      []byte // in PostgreSQL's text format; a feed uses the binary format
}

// Change is the change of one row.
type Change struct {
	Relation *Relation
	Op       Op
	Old      []Value // nil: unknown; only key columns if KeyOnly
	KeyOnly  bool
	New      []Value // nil: the row was deleted
}

// Transaction is a committed transaction.
type Transaction struct {
	Commit    LSN // start of its commit record
	XID       uint32
	Committed time.Time
}

// Receiver processes the transactions that a [Stream] reads. The stream calls its methods
// one at a time, reads nothing meanwhile, and ends with the first error.
type Receiver interface {
	Begin(Transaction)
	Change(context.Context, Change) error
	// Commit ends a transaction. Without a preceding Begin, it reports a part of the WAL
	// without changes for the receiver. The receiver calls done once everything before end
	// is durable. It may call done at any time, from any goroutine.
	Commit(ctx context.Context, end LSN, done func()) error
	// Due returns when to call Flush if no message arrives earlier. Zero: never.
	Due() time.Time
	Flush(context.Context) error
}

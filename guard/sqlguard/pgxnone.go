package sqlguard

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// noRows is the result of a query that was not sent.
type noRows struct{ err error }

func (noRows) Close()                                       {}
func (r noRows) Err() error                                 { return r.err }
func (noRows) CommandTag() pgconn.CommandTag                { return pgconn.CommandTag{} }
func (noRows) FieldDescriptions() []pgconn.FieldDescription { return nil }
func (noRows) Next() bool                                   { return false }
func (r noRows) Scan(...any) error                          { return r.err }
func (r noRows) Values() ([]any, error)                     { return nil, r.err }
func (noRows) RawValues() [][]byte                          { return nil }
func (noRows) Conn() *pgx.Conn                              { return nil }
func (noRows) TypeMap() *pgtype.Map                         { return nil }

// noResults are those of a batch that was not sent.
type noResults struct{ err error }

func (r noResults) Exec() (pgconn.CommandTag, error) { return pgconn.CommandTag{}, r.err }
func (r noResults) Query() (pgx.Rows, error)         { return noRows(r), r.err }
func (r noResults) QueryRow() pgx.Row                { return noRows(r) }
func (r noResults) Close() error                     { return r.err }
func (r noResults) Tx() pgx.Tx                       { return noTx(r) }

// noTx is the transaction of a batch that was not sent: it never began.
type noTx struct{ err error }

func (t noTx) Begin(context.Context) (pgx.Tx, error) { return nil, t.err }
func (noTx) Commit(context.Context) error            { return pgx.ErrTxClosed }
func (noTx) Rollback(context.Context) error          { return pgx.ErrTxClosed }
func (t noTx) CopyFrom(context.Context, pgx.Identifier, []string, pgx.CopyFromSource) (int64, error) {
	return 0, t.err
}
func (t noTx) SendBatch(context.Context, *pgx.Batch) pgx.BatchResults { return noResults(t) }
func (noTx) LargeObjects() pgx.LargeObjects                           { return pgx.LargeObjects{} }
func (t noTx) Prepare(context.Context, string, string) (*pgconn.StatementDescription, error) {
	return nil, t.err
}

func (t noTx) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, t.err
}
func (t noTx) Query(context.Context, string, ...any) (pgx.Rows, error) { return noRows(t), t.err }
func (t noTx) QueryRow(context.Context, string, ...any) pgx.Row        { return noRows(t) }
func (noTx) Conn() *pgx.Conn                                           { return nil }

package sqlguard

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Querier is what pools, connections and transactions of pgx have in common.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Pgx guards a pool, a connection or a transaction of pgx. Unlike a [Tracer] it
// can lower the LIMIT of a statement. Rewriters, such as NamedArgs, work before
// the guard looks.
type Pgx struct {
	db    Querier
	judge *judge
}

var _ Querier = (*Pgx)(nil)

// NewPgx makes a Pgx.
func NewPgx(db Querier, config Config) (*Pgx, error) {
	if config.Dialect == "" {
		config.Dialect = "postgres"
	}
	j, err := config.checked("pgx")
	if err != nil {
		return nil, err
	}
	return &Pgx{db: db, judge: j}, nil
}

// Exec implements Querier.
func (p *Pgx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	text, args, err := p.judge.askPgx(ctx, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	return p.db.Exec(ctx, text, args...)
}

// Query implements Querier.
func (p *Pgx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	text, args, err := p.judge.askPgx(ctx, sql, args)
	if err != nil {
		return noRows{err}, err
	}
	return p.db.Query(ctx, text, args...)
}

// QueryRow implements Querier.
func (p *Pgx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	text, args, err := p.judge.askPgx(ctx, sql, args)
	if err != nil {
		return noRows{err}
	}
	return p.db.QueryRow(ctx, text, args...)
}

// SendBatch implements Querier: one bad statement refuses all. The batch keeps
// what was lowered in it.
func (p *Pgx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	for _, q := range b.QueuedQueries {
		text, args, err := p.judge.askPgx(ctx, q.SQL, q.Arguments)
		if err != nil {
			return noResults{err}
		}
		q.SQL, q.Arguments = text, args
	}
	return guardedResults{p.db.SendBatch(ctx, b), p}
}

// Begin implements Querier: what runs in the transaction is guarded too.
func (p *Pgx) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := p.db.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return p.Tx(tx), nil
}

// Tx guards a transaction, such as one of BeginTx.
func (p *Pgx) Tx(tx pgx.Tx) pgx.Tx {
	return &guardedTx{Tx: tx, guarded: &Pgx{db: tx, judge: p.judge}}
}

// guardedResults are those of a batch, which may have begun a transaction.
type guardedResults struct {
	pgx.BatchResults
	guarded *Pgx
}

func (r guardedResults) Tx() pgx.Tx {
	if tx := r.BatchResults.Tx(); tx != nil {
		return r.guarded.Tx(tx)
	}
	return nil
}

// guardedTx is a transaction. Its Conn is not guarded.
type guardedTx struct {
	pgx.Tx
	guarded *Pgx
}

func (t *guardedTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.guarded.Exec(ctx, sql, args...)
}

func (t *guardedTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.guarded.Query(ctx, sql, args...)
}

func (t *guardedTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.guarded.QueryRow(ctx, sql, args...)
}

func (t *guardedTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return t.guarded.SendBatch(ctx, b)
}

func (t *guardedTx) Begin(ctx context.Context) (pgx.Tx, error) { return t.guarded.Begin(ctx) }

func (t *guardedTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	text, err := t.guarded.judge.ask(ctx, sql, nil)
	if err != nil {
		return nil, err
	}
	d, err := t.Tx.Prepare(ctx, name, text)
	if err == nil {
		t.guarded.judge.remember(name, text)
	}
	return d, err
}

// askPgx judges a statement of pgx with the options that stand before its
// values. A rewriter has done its work when it returns.
func (j *judge) askPgx(ctx context.Context, query string, args []any) (string, []any, error) {
	options := 0
	for options < len(args) && isOption(args[options]) {
		options++
	}
	text, values, err := rewritten(ctx, nil, query, args)
	if err != nil {
		return "", nil, err
	}
	edited := text
	if prepared, ok := j.lookup(text); ok {
		err = j.askPrepared(ctx, prepared, values)
	} else {
		edited, err = j.ask(ctx, text, values)
	}
	if err != nil {
		return "", nil, err
	}
	kept := make([]any, 0, options+len(values))
	for _, o := range args[:options] {
		if _, ok := o.(pgx.QueryRewriter); !ok {
			kept = append(kept, o)
		}
	}
	return edited, append(kept, values...), nil
}

func isOption(v any) bool {
	switch v.(type) {
	case pgx.QueryResultFormats, pgx.QueryResultFormatsByOID, pgx.QueryExecMode, pgx.QueryRewriter:
		return true
	default:
		return false
	}
}

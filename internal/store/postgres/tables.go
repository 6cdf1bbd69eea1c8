package postgres

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bezoar-dev/bezoar/internal/store/record"
	"github.com/bezoar-dev/bezoar/internal/store/tables"
)

// shared is the database of the stores in package tables.
type shared struct {
	db      *DB
	dialect *tables.Dialect
	locks   string // prefix of this schema's advisory locks
}

var _ tables.DB = (*shared)(nil)

func newShared(db *DB, schema string) *shared {
	return &shared{db, tables.NewDialect(rowsFrom,
		"{schema}", schema, "{now}", clock, "{begun}", begun, "{least}", "least", "{greatest}", "greatest", "{true}", "true", "{json}", "::jsonb", "{bytes}", "''",
		"{lock}", " FOR UPDATE", "{skip}", " FOR UPDATE SKIP LOCKED", "{share}", " FOR SHARE", "{labels}", "labels, ", "{u.labels}", "u.labels::jsonb, ", "{labels fit $3}", "labels <@ $3::jsonb",
		"{count mark}", `SELECT 1`, "{mark}", `nextval('`+schema+`.queue_mark_version')`,
		"{tokens}", `SELECT nextval('`+schema+`.flow_tokens') FROM generate_series(1, $1)`,
	), "bezoar flows of " + schema + "\x00"}
}

// begun is the time at the start of the transaction. Unlike clock, it can be used with an
// index.
const begun = `(extract(epoch FROM now()) * 1000000)::bigint`

// rowsFrom reads rows from one array for each column.
func rowsFrom(first int, columns []tables.Column) string {
	var arrays, names []string
	for i, c := range columns {
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", first+i, c.Type))
		names = append(names, c.Name)
	}
	return "unnest(" + strings.Join(arrays, ", ") + ") u (" + strings.Join(names, ", ") + ")"
}

// arguments converts rows to one array for each column.
func arguments(args []any) []any {
	if len(args) == 0 {
		return args
	}
	rows, ok := args[len(args)-1].(tables.Rows)
	if !ok {
		return args
	}
	var c columns
	for _, row := range rows {
		c.add(row...)
	}
	return append(args[:len(args)-1:len(args)-1], c...)
}

func (s *shared) Read(ctx context.Context, statement string, args []any, f func(record.Scan) error) error {
	return each(ctx, s.db.pool, s.dialect.Fill(statement), arguments(args), func(rows pgx.Rows) error { return f(rows.Scan) })
}

// Send sends a batch, which is one transaction.
func (s *shared) Send(ctx context.Context, b tables.Batch) error {
	return s.db.pool.SendBatch(ctx, s.batch(b)).Close()
}

func (s *shared) batch(b tables.Batch) *pgx.Batch {
	batch := new(pgx.Batch)
	for _, q := range b {
		queued := batch.Queue(s.dialect.Fill(q.Statement), arguments(q.Args)...)
		if q.Each == nil {
			continue
		}
		queued.Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := q.Each(rows.Scan); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	return batch
}

// beginShared begins a transaction that the server ends after a time without statements.
// Otherwise a process that is stopped during a transaction would keep its locks, and no
// other node could take its runs.
const beginShared = `BEGIN; SET LOCAL idle_in_transaction_session_timeout = 5000`

// Change repeats the transaction after conflicts.
func (s *shared) Change(ctx context.Context, f func(tables.Tx) error) error {
	for n := 1; ; n++ {
		err := pgx.BeginTxFunc(ctx, s.db.pool, pgx.TxOptions{BeginQuery: beginShared}, func(tx pgx.Tx) error { return f(sharedTx{ctx, tx, s}) })
		refused, ok := errors.AsType[*pgconn.PgError](err)
		again := ok && (inTheWay(err) || refused.Code == "23505" && refused.ConstraintName == "flow_effects_pkey")
		if !again || n == attempts {
			return err
		}
		select {
		case <-time.After(rand.N(time.Duration(n) * 4 * time.Millisecond)):
		case <-ctx.Done():
			return err
		}
	}
}

func (s *shared) Grow(ctx context.Context, f func(tables.Tx) error) error { return s.Change(ctx, f) }

func (s *shared) Fault(ctx context.Context, err error, format string, args ...any) error {
	return s.db.fault(ctx, err, format, args...)
}

func (s *shared) IsUnique(err error) bool { return isUniqueViolation(err) }

// sharedTx is a transaction for the stores in package tables.
type sharedTx struct {
	ctx context.Context //nolint:containedctx // of one transaction
	tx  pgx.Tx
	of  *shared
}

func (t sharedTx) Exec(statement string, args ...any) (int64, error) {
	done, err := t.tx.Exec(t.ctx, t.of.dialect.Fill(statement), arguments(args)...)
	return done.RowsAffected(), err
}

func (t sharedTx) Run(b tables.Batch) error {
	if len(b) == 0 {
		return nil
	}
	return t.tx.SendBatch(t.ctx, t.of.batch(b)).Close()
}

// Lock takes an advisory lock for each name.
func (t sharedTx) Lock(names []string) error {
	if len(names) == 0 {
		return nil
	}
	locks := make([]int64, len(names))
	for i, name := range names {
		h := fnv.New64a()
		h.Write([]byte(t.of.locks + name))
		locks[i] = int64(h.Sum64()) //nolint:gosec // any bits will do
	}
	_, err := t.tx.Exec(t.ctx, `SELECT pg_advisory_xact_lock(l) FROM (SELECT DISTINCT l FROM unnest($1::bigint[]) l ORDER BY l) u`, locks)
	return err
}

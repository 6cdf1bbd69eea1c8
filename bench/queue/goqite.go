package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"maragu.dev/goqite"
)

const goqiteAdvice = "journal_mode=WAL, busy_timeout 5 s, foreign_keys, one connection; says nothing of synchronous, so SQLite's default: FULL"

func goqitePlain() Subject {
	return Subject{
		Name: "goqite", Settings: sqlitePragmas + "; Send, Receive, Delete: a transaction for each message", Advice: goqiteAdvice,
		open: func(ctx context.Context, e *Env) (Queue, error) { return openGoqite(ctx, e, 1) },
	}
}

func goqiteTx() Subject {
	return Subject{
		Name: "goqite-tx", Settings: sqlitePragmas + "; SendTx, ReceiveTx, DeleteTx: ten messages share a transaction", Advice: goqiteAdvice,
		open: func(ctx context.Context, e *Env) (Queue, error) { return openGoqite(ctx, e, batch) },
	}
}

// goqiteQueue has no batches of its own, but lets the caller's transaction hold
// several messages.
type goqiteQueue struct {
	db *sql.DB
	q  *goqite.Queue
	n  int // messages in a transaction

	bodies bodies
}

// goqiteSchema reads the schema that the module ships beside its code, without
// exporting it.
func goqiteSchema(ctx context.Context) (string, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite").Output()
	if err != nil {
		return "", fmt.Errorf("find goqite's module: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema_sqlite.sql"))
	return string(text), err
}

func openGoqite(ctx context.Context, e *Env, n int) (Queue, error) {
	schema, err := goqiteSchema(ctx)
	if err != nil {
		return nil, err
	}
	db, err := openSQLite(ctx, e)
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("make goqite's table: %w", err), db.Close())
	}
	return &goqiteQueue{db: db, q: goqite.New(goqite.NewOpts{DB: db, Name: "bench"}), n: n}, nil
}

func (g *goqiteQueue) Close() error { return g.db.Close() }

func (g *goqiteQueue) Send(ctx context.Context, l Load) error {
	return share(ctx, l, g.n, func(ctx context.Context, n int) error {
		if g.n == 1 {
			return g.q.Send(ctx, goqite.Message{Body: []byte(g.bodies.next())})
		}
		return g.tx(ctx, func(tx *sql.Tx) error {
			for range n {
				if err := g.q.SendTx(ctx, tx, goqite.Message{Body: []byte(g.bodies.next())}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (g *goqiteQueue) Drain(ctx context.Context, l Load) error {
	return drain(ctx, l, func(ctx context.Context) (int, error) {
		if g.n == 1 {
			m, err := g.q.Receive(ctx)
			if err != nil || m == nil {
				return 0, err
			}
			return 1, g.q.Delete(ctx, m.ID)
		}
		ids, err := g.receive(ctx)
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		return len(ids), g.tx(ctx, func(tx *sql.Tx) error {
			for _, id := range ids {
				if err := g.q.DeleteTx(ctx, tx, id); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (g *goqiteQueue) receive(ctx context.Context) (ids []goqite.ID, err error) {
	err = g.tx(ctx, func(tx *sql.Tx) error {
		for range g.n {
			m, err := g.q.ReceiveTx(ctx, tx)
			if err != nil || m == nil {
				return err
			}
			ids = append(ids, m.ID)
		}
		return nil
	})
	return ids, err
}

func (g *goqiteQueue) tx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

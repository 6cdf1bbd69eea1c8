package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// Pooler is what stands between Bezoar and the server.
type Pooler string

// The kinds of Pooler.
const (
	Direct            Pooler = "none"
	PoolsSessions     Pooler = "sessions"
	PoolsTransactions Pooler = "transactions"
	OneConnection     Pooler = "one connection" // it gives no second one while the first is in a transaction
)

// Inspection is what is found in a database that is only looked at.
type Inspection struct {
	Has, Knows int64     // versions of the schema; 0: there is none
	Clock      time.Time // of the server, when the answer was on its way
	Pooler     Pooler
	Prepares   bool // the URL asks for statements that stay prepared
}

// poolerPatience is how long a second connection may take to be served.
const poolerPatience = 3 * time.Second

// Inspect looks at a store and changes nothing.
func Inspect(ctx context.Context, c Config) (found Inspection, err error) {
	c = c.withDefaults()
	settings, err := c.pool()
	if err != nil {
		return found, fmt.Errorf("URL: %w", err)
	}
	if found.Knows, err = record.NewestSchema(migrations); err != nil {
		return found, err
	}
	switch settings.ConnConfig.DefaultQueryExecMode {
	case pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe:
		found.Prepares = true
	}
	// What is asked here must not depend on what the pooler can do.
	settings.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, settings.ConnConfig)
	if err != nil {
		return found, explain(where(settings.ConnConfig), err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	if err := conn.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&found.Clock); err != nil {
		return found, explain(where(settings.ConnConfig), err)
	}
	err = conn.QueryRow(ctx, inSchema(c.Schema, "SELECT max(version_id) FROM {schema}.goose_db_version")).Scan(&found.Has)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && (refused.Code == "42P01" || refused.Code == "3F000") {
		err = nil // no such table, or no such schema
	}
	if err == nil {
		found.Pooler, err = poolerOf(ctx, conn)
	}
	return found, explain(where(settings.ConnConfig), err)
}

// poolerOf finds out what is in between. A pooler makes up the process id that a
// client learns when it connects. One that pools transactions gives the client's next
// transaction another process of the server while the last one is somebody else's.
func poolerOf(ctx context.Context, conn *pgx.Conn) (Pooler, error) {
	before, err := backendOf(ctx, conn)
	if err != nil || before == conn.PgConn().PID() {
		return Direct, err
	}
	ctx, cancel := context.WithTimeout(ctx, poolerPatience)
	defer cancel()
	other, err := pgx.ConnectConfig(ctx, conn.Config())
	if err != nil {
		return OneConnection, wait(ctx, err)
	}
	defer other.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	tx, err := other.Begin(ctx)
	if err != nil {
		return OneConnection, wait(ctx, err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	taken, err := backendOf(ctx, tx.Conn())
	if err != nil {
		return OneConnection, wait(ctx, err)
	}
	after, err := backendOf(ctx, conn)
	switch {
	case err != nil:
		return OneConnection, wait(ctx, err)
	case taken == before || after != before:
		return PoolsTransactions, nil
	}
	return PoolsSessions, nil
}

// wait is nil for an error of having waited for too long.
func wait(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}

func backendOf(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	return pid, conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid)
}

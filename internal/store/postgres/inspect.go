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

// Pooler is the kind of pooler between Bezoar and the server.
type Pooler string

// Kinds of Pooler.
const (
	Direct            Pooler = "none"
	PoolsSessions     Pooler = "sessions"
	PoolsTransactions Pooler = "transactions"
	OneConnection     Pooler = "one connection" // no second connection while the first one is in a transaction
)

// Inspection is the result of inspecting a database.
type Inspection struct {
	Has, Knows int64     // versions of the schema; 0: there is none
	Clock      time.Time // the server's time when it answered
	Pooler     Pooler
	Prepares   bool // the URL requests statements that stay prepared
}

// poolerPatience is the time limit for serving a second connection.
const poolerPatience = 3 * time.Second

// Inspect inspects a store and changes nothing.
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
	// These queries must not depend on the pooler's abilities.
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
		err = nil // no such table or schema
	}
	if err == nil {
		found.Pooler, err = poolerOf(ctx, conn)
	}
	return found, explain(where(settings.ConnConfig), err)
}

// poolerOf detects a pooler. A pooler invents the process ID that a client receives on
// connecting. In transaction mode, it gives the client's next transaction another server
// process while a different client uses the last one.
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

// wait returns nil for the error of a timeout.
func wait(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return err
}

func backendOf(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	return pid, conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid)
}

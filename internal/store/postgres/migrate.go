package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// Migrations only go forward. A released file is never edited.
//
//go:embed migrations/*.sql
var migrations embed.FS

// lockPoll is the approximate interval at which a process checks whether another one is
// still migrating.
const lockPoll = 100 * time.Millisecond

// migrate upgrades the schema, one process at a time.
func migrate(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	return migrateFrom(ctx, pool, schema, files, makeFunctions)
}

func migrateFrom(ctx context.Context, pool *pgxpool.Pool, schema string, files fs.FS,
	then func(context.Context, *pgxpool.Pool, string) error,
) (err error) {
	unlock, err := lock(ctx, pool, schema)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := makeSchema(ctx, pool, schema); err != nil {
		return err
	}
	steps, err := readMigrations(files, schema)
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool) // keeps the pool open
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := goose.NewProvider(goose.DialectPostgres, db, nil,
		goose.WithGoMigrations(steps...), goose.WithTableName(schema+".goose_db_version"),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	has, knows, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the version of schema %s: %w", schema, err)
	}
	if has > knows {
		return fmt.Errorf("schema %s has version %d, this program knows versions up to %d; "+
			"run the newer bezoar that wrote it, or restore a backup from before", schema, has, knows)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate schema %s from version %d to %d: %w", schema, has, knows, err)
	}
	return then(ctx, pool, schema)
}

// lock makes concurrently starting processes take turns. Session locks do not work behind a
// pooler, so it uses the lock of a transaction that stays open on a separate connection. A
// process that does not get the lock releases its connection, so that waiting processes do
// not use up the pooler's connections. lock needs two connections.
func lock(ctx context.Context, pool *pgxpool.Pool, schema string) (unlock func() error, err error) {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	end := func() error { return conn.Close(context.WithoutCancel(ctx)) } // rolls back
	for {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return nil, errors.Join(err, end())
		}
		var mine bool
		err = tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))", "bezoar migrates "+schema).Scan(&mine)
		if err != nil {
			return nil, errors.Join(err, end())
		}
		if mine {
			return end, nil
		}
		if err := tx.Rollback(ctx); err != nil {
			return nil, errors.Join(err, end())
		}
		select {
		case <-time.After(lockPoll/2 + rand.N(lockPoll)):
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for another process to migrate schema %s: %w", schema, ctx.Err()), end())
		}
	}
}

// makeSchema checks first whether the schema exists, because a role may use a schema
// without the privilege to create one.
func makeSchema(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	var there bool
	err := pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", schema).Scan(&there)
	if err != nil || there {
		return err
	}
	if _, err := pool.Exec(ctx, "CREATE SCHEMA "+schema); err != nil {
		return fmt.Errorf("create schema %s: %w", schema, err)
	}
	return nil
}

func readMigrations(files fs.FS, schema string) ([]*goose.Migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	var steps []*goose.Migration
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		up := func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, inSchema(schema, string(text)))
			return err
		}
		steps = append(steps, goose.NewGoMigration(version, &goose.GoFunc{RunTx: up}, nil))
	}
	return steps, nil
}

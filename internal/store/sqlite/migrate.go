package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// Migrations only go forward. A file that has been released is never edited.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate upgrades the schema. The caller holds the lock of the file.
func migrate(ctx context.Context, db *sql.DB, path string) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	return migrateFrom(ctx, db, path, files)
}

func migrateFrom(ctx context.Context, db *sql.DB, path string, files fs.FS) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	has, knows, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version of %s: %w", path, err)
	}
	if has > knows {
		return fmt.Errorf("%s has schema version %d, this program knows versions up to %d; "+
			"run the newer bezoar that wrote it, or restore a backup from before", path, has, knows)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate the schema of %s from version %d to %d: %w", path, has, knows, err)
	}
	return nil
}

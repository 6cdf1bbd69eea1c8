package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// applicationID marks a file as a Bezoar store in its header: "bzor".
const applicationID = 0x627a6f72

// claim marks a new file and turns on the write-ahead log. It rejects another program's
// file without changing it.
func claim(ctx context.Context, db *sql.DB, path string) error {
	var id, objects int
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return err
	}
	if id != applicationID && (id != 0 || objects > 0) {
		return fmt.Errorf("%s is another program's database (application id %#x, %d tables and indexes); use another file",
			path, uint32(id), objects)
	}
	if id == 0 { // must be set before the first page is written; vacuum needs it
		if _, err := db.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
	}
	var journal string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&journal); err != nil {
		return err
	}
	if journal != "wal" {
		return fmt.Errorf("a write-ahead log is not possible for %s (journal mode stays %q); "+
			"use a local file system, not a network share", path, journal)
	}
	if id == applicationID {
		return nil
	}
	_, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID))
	return err
}

func checkEngine(ctx context.Context, db *sql.DB) error {
	var version string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
	return requireVersion(version)
}

// requireVersion rejects SQLite versions that can damage files: the reset race of the
// write-ahead log up to 3.51.2, and the rollback of super-journals in 3.53.3.
func requireVersion(version string) error {
	wanted := [3]int{3, 53, 4}
	parts := strings.SplitN(version, ".", 4)
	for i, want := range wanted {
		got := -1
		if i < len(parts) {
			if n, err := strconv.Atoi(parts[i]); err == nil {
				got = n
			}
		}
		if got > want {
			return nil
		}
		if got < want {
			return fmt.Errorf("this program was built with SQLite %s, which has bugs that damage files; "+
				"build it with modernc.org/sqlite v1.62.0 or later (SQLite %d.%d.%d or later)",
				version, wanted[0], wanted[1], wanted[2])
		}
	}
	return nil
}

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/bezoar-dev/bezoar/queue"
)

// explain adds the file's name, and advice if there is any.
func explain(path string, err error) error {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return err
	}
	say := func(what string) error { return fmt.Errorf("%s %s: %w", path, what, err) }
	switch e.Code() & 0xff { // the primary code
	case codes.SQLITE_FULL:
		err = noSpace{err}
		return say("cannot grow: the disk or quota of " + filepath.Dir(path) + " is full; free space. What was acknowledged is safe")
	case codes.SQLITE_NOTADB:
		return say("is not a SQLite database (or is encrypted); move it away or name another file")
	case codes.SQLITE_CORRUPT:
		return say("is damaged; restore a backup, or save what is readable with: sqlite3 " + path + " .recover")
	case codes.SQLITE_READONLY, codes.SQLITE_PERM, codes.SQLITE_AUTH:
		return say("is not writable; check owner and mode of the file, of " + path + "-wal and of the folder")
	case codes.SQLITE_CANTOPEN:
		return say("cannot be opened; check that the folder exists and is writable, and the limit on open files")
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return say("is held by another program for more than 5 s; end what writes to it (a sqlite3 shell, a backup)")
	case codes.SQLITE_IOERR:
		return say("cannot be read or written; check the disk and its free space")
	}
	return say("failed")
}

// noSpace is an error of the driver that is [queue.ErrNoSpace].
type noSpace struct{ error }

func (e noSpace) Unwrap() []error { return []error{e.error, queue.ErrNoSpace} }

// fault is explain with the attempted operation. If ctx ended the operation, it returns the
// error of ctx.
func (db *DB) fault(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), explain(db.path, err))
}

func isUniqueViolation(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok &&
		(e.Code() == codes.SQLITE_CONSTRAINT_PRIMARYKEY || e.Code() == codes.SQLITE_CONSTRAINT_UNIQUE)
}

func isNoTransaction(err error) bool {
	return strings.Contains(err.Error(), "no transaction is active") // SQLITE_ERROR has no more specific code
}

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// Inspection is the result of inspecting a file.
type Inspection struct {
	Path       string // without symbolic links
	Exists     bool
	Has, Knows int64 // versions of the schema
	Held       bool  // a process has the file open as its store
	Owner      int   // ID of that process; 0: unknown
	Log        int64 // bytes of a write-ahead log that no process has open
}

// Inspect inspects a store, which may be in use. It creates and migrates nothing.
func Inspect(ctx context.Context, path string) (found Inspection, err error) {
	if found.Path, err = realPath(path); err != nil {
		return found, err
	}
	if found.Knows, err = record.NewestSchema(migrations); err != nil {
		return found, err
	}
	if err := checkPath(found.Path); err != nil {
		return found, err
	}
	if _, err := os.Stat(found.Path); errors.Is(err, fs.ErrNotExist) {
		return found, nil
	} else if err != nil {
		return found, err
	}
	found.Exists = true
	if found.Held, found.Owner, err = holder(found.Path); err != nil {
		return found, err
	}
	if info, err := os.Stat(found.Path + "-wal"); err == nil && !found.Held {
		found.Log = info.Size()
	}
	if err := prepareDriver(); err != nil {
		return found, err
	}
	if found.Has, err = versionOf(ctx, found.Path, found.Held); err != nil {
		return found, explain(found.Path, err)
	}
	return found, nil
}

// versionOf reads the version of a store's schema; 0 for a file without one. A file without
// a process is read without its log: SQLite would merge the log into it.
func versionOf(ctx context.Context, path string, held bool) (version int64, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	settings := url.Values{"mode": {"rw"}, "_busy_timeout": {"5000"}, "_query_only": {"1"}, "_error_rc": {"1"}, "_pragma": {"trusted_schema(0)"}}
	if !held {
		settings.Set("mode", "ro")
		settings.Set("immutable", "1")
	}
	db, err := sql.Open("sqlite", fileURI(path, settings))
	if err != nil {
		return 0, err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	var application, tables int64
	const header = `SELECT application_id, (SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version') FROM pragma_application_id`
	if err := db.QueryRowContext(ctx, header).Scan(&application, &tables); err != nil {
		return 0, err
	}
	if application != applicationID {
		return 0, fmt.Errorf("%s is another program's database (application id %#x)", path, uint32(application))
	}
	if tables == 0 {
		return 0, nil
	}
	return version, db.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version").Scan(&version)
}

// holder reports whether a process owns the file as its store, and its ID.
func holder(path string) (held bool, pid int, err error) {
	f, err := os.OpenFile(path+"-lock", os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, explainLockFile(path, err)
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		return false, 0, nil
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return false, 0, fmt.Errorf("look at the lock %s: %w", f.Name(), err)
	}
	var text [20]byte
	n, _ := f.ReadAt(text[:], 0) // the owner may be writing it
	pid, _ = strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return true, pid, nil
}

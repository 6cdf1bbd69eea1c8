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

	driver "modernc.org/sqlite"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// backupStep is the number of pages copied between two checks of the context.
const backupStep = 1024

// Backup names the source and the destination of a backup.
type Backup struct {
	From    string // file of a store, which may be in use
	To      string
	Replace bool // To may exist
	// Mark is the key of the mark that holds the store's name, and Is the expected
	// document. A store with another name is not copied. nil: any.
	Mark string
	Is   []byte
	// Told, unless nil, is called with the progress.
	Told func(Progress)

	still bool // no process writes to From, which may be on a read-only disk
}

// Progress is the progress of a backup.
type Progress struct {
	Done, Total int64 // in bytes
	Checking    bool  // all is copied, and the copy is being checked
}

// Run copies the store as of one moment, checks the copy, and then renames it to its final
// name. It returns the copy's size in bytes.
//
// SQLite's online backup copies pages within one read transaction. Writers never wait for
// it; only the log grows. VACUUM INTO reads in the same way, but rebuilds every table and
// index, which keeps the log from shrinking for longer, and it cannot report progress.
// Without the transaction, a backup would restart at every commit of the serving process.
func (b Backup) Run(ctx context.Context) (size int64, err error) {
	if b.Told == nil {
		b.Told = func(Progress) {}
	}
	if b.From, err = realPath(b.From); err != nil {
		return 0, err
	}
	if err := b.checkNames(); err != nil {
		return 0, err
	}
	if err := prepareDriver(); err != nil {
		return 0, err
	}
	f, err := os.CreateTemp(filepath.Dir(b.To), "."+filepath.Base(b.To)+"-*.part") // readable by its owner only
	if err != nil {
		return 0, err
	}
	part := f.Name()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			_ = os.Remove(part) // does not exist if it was renamed
		}
		for _, end := range []string{"-journal", "-wal", "-shm"} {
			_ = os.Remove(part + end)
		}
	}()
	was, err := b.copyTo(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	if size, err = b.check(ctx, part, was); err != nil {
		return 0, fmt.Errorf("check the copy of %s: %w", b.From, err)
	}
	return size, b.name(part)
}

// checkNames rejects a source that is not a store, and a destination that must not be
// overwritten.
func (b Backup) checkNames() error {
	if err := checkPath(b.From); err != nil {
		return err
	}
	if _, err := os.Stat(b.From); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(b.To))
	if err != nil {
		return err
	}
	from, err := filepath.Abs(b.From)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	to := filepath.Join(dir, filepath.Base(b.To))
	for _, end := range []string{"", "-wal", "-shm", "-journal", "-lock", "-reserve"} {
		if to == from+end || same(to, from+end) {
			return fmt.Errorf("%s belongs to the store itself: use another file name: %w", b.To, fs.ErrExist)
		}
	}
	for _, end := range []string{"-wal", "-journal"} { // SQLite would use it with the copy
		if _, err := os.Lstat(to + end); err == nil {
			return fmt.Errorf("%s%s exists: a store of that name is in use or was not shut down cleanly; use another file name: %w", b.To, end, fs.ErrExist)
		}
	}
	switch info, err := os.Lstat(b.To); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; use another file name: %w", b.To, fs.ErrExist)
	case !b.Replace:
		return fmt.Errorf("%s exists already: %w", b.To, fs.ErrExist)
	}
	return nil
}

// same reports whether two paths are the same file.
func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// copyTo copies all pages as of one moment, and returns the identity of the store.
func (b Backup) copyTo(ctx context.Context, part *os.File) (was identity, err error) {
	path, err := filepath.Abs(b.From)
	if err != nil {
		return was, err
	}
	settings := url.Values{
		"mode": {"rw"}, "_busy_timeout": {"5000"}, "_query_only": {"1"}, "_defensive": {"1"}, "_error_rc": {"1"}, "_pragma": {"trusted_schema(0)"},
	}
	if b.still {
		settings.Set("mode", "ro")
		settings.Set("immutable", "1")
	}
	db, err := sql.Open("sqlite", fileURI(path, settings))
	if err != nil {
		return was, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return was, explain(b.From, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return was, explain(b.From, err)
	}
	defer func() { // also after the end of ctx
		_, end := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		err = errors.Join(err, end)
	}()
	if was, err = b.identify(ctx, conn); err != nil { // this read defines the moment of the copy
		return was, explain(b.From, err)
	}
	if b.Is != nil && was.mark != string(b.Is) {
		return was, fmt.Errorf("%s is not the store that was used with this state directory", b.From)
	}
	return was, conn.Raw(func(c any) error { return explain(b.To, b.pages(ctx, c, part, was.page)) })
}

// pages copies the pages in steps, with a sync after each. Otherwise the disk would have to
// write the whole copy at once, and commits of the store would wait for that.
func (b Backup) pages(ctx context.Context, from any, part *os.File, page int64) (err error) {
	abs, err := filepath.Abs(part.Name())
	if err != nil {
		return err
	}
	// The copy needs no journal: no other process uses it, and it is deleted after an
	// error.
	source, ok := from.(interface {
		NewBackup(to string) (*driver.Backup, error)
	})
	if !ok {
		return fmt.Errorf("the driver's connections, %T, have no backup", from)
	}
	run, err := source.NewBackup(fileURI(abs, url.Values{"mode": {"rw"}, "_error_rc": {"1"}, "_journal_mode": {"OFF"}, "_synchronous": {"OFF"}}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Finish()) }()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err = run.Step(backupStep); err != nil {
			return err
		}
		if err := part.Sync(); err != nil {
			return err
		}
		total := int64(run.PageCount()) * page
		b.Told(Progress{Done: total - int64(run.Remaining())*page, Total: total})
	}
	return nil
}

// identity holds the values that a copy has in common with its store.
type identity struct {
	application, page, pages, schema int64
	mark                             string
}

// asker is a connection, or a pool of connections.
type asker interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (b Backup) identify(ctx context.Context, db asker) (is identity, err error) {
	const header = `SELECT application_id, page_size, page_count FROM pragma_application_id, pragma_page_size, pragma_page_count`
	if err := db.QueryRowContext(ctx, header).Scan(&is.application, &is.page, &is.pages); err != nil {
		return is, err
	}
	if is.application != applicationID {
		return is, fmt.Errorf("%s is another program's database (application id %#x)", b.From, uint32(is.application))
	}
	const inside = `SELECT (SELECT max(version_id) FROM goose_db_version), coalesce((SELECT CAST(doc AS TEXT) FROM queue_marks WHERE key = ?), '')`
	return is, db.QueryRowContext(ctx, inside, b.Mark).Scan(&is.schema, &is.mark)
}

// check reads the whole copy.
func (b Backup) check(ctx context.Context, part string, was identity) (size int64, err error) {
	info, err := os.Stat(part)
	if err != nil {
		return 0, err
	}
	b.Told(Progress{Done: info.Size(), Total: info.Size(), Checking: true})
	abs, err := filepath.Abs(part)
	if err != nil {
		return 0, err
	}
	// Exclusive mode: the log then needs no shared memory, which network file systems may
	// lack.
	db, err := sql.Open("sqlite", fileURI(abs, url.Values{
		"mode": {"rw"}, "_query_only": {"1"}, "_error_rc": {"1"}, "_pragma": {"locking_mode(EXCLUSIVE)", "trusted_schema(0)"},
	}))
	if err != nil {
		return 0, err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	is, err := b.identify(ctx, db)
	if err != nil {
		return 0, err
	}
	if is != was {
		return 0, fmt.Errorf("the copy differs from the store: %+v, and the store had %+v", is, was)
	}
	var found string
	look := "PRAGMA quick_check(1)"
	if b.still {
		look = "PRAGMA integrity_check(1)" // includes the indexes, because nothing waits for the result
	}
	if err := db.QueryRowContext(ctx, look).Scan(&found); err != nil {
		return 0, err
	}
	if found != "ok" {
		return 0, fmt.Errorf("the store is damaged: %s", found)
	}
	return info.Size(), nil
}

// name renames the copy after it has been synced to disk.
func (b Backup) name(part string) error {
	if err := syncFile(part); err != nil {
		return err
	}
	if !b.Replace { // another process may have created one in the meantime
		if _, err := os.Lstat(b.To); err == nil {
			return fmt.Errorf("%s exists already: %w", b.To, fs.ErrExist)
		}
	}
	if err := os.Rename(part, b.To); err != nil {
		return err
	}
	return statefile.SyncDir(filepath.Dir(b.To))
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// fileURI returns a URI with all settings of a connection. The path is escaped, so that it
// cannot add settings.
func fileURI(path string, settings url.Values) string {
	file := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	return file.String()
}

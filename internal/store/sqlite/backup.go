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

	"golang.org/x/sys/unix"
	driver "modernc.org/sqlite"
)

// backupStep is how many pages are copied between two looks at the context.
const backupStep = 1024

// Backup names a file that is to be copied, and the copy.
type Backup struct {
	From    string // the file of a store, which may be in use
	To      string
	Replace bool // To may be there already
	// Mark is the key of the mark that holds the store's name, and Is its document:
	// a store with another name is not copied. nil is any.
	Mark string
	Is   []byte
	// Told, unless nil, hears how far it is.
	Told func(Progress)

	still bool // nobody writes to From, which may be on a disk that cannot be written to
}

// Progress is how far a backup is.
type Progress struct {
	Done, Total int64 // bytes
	Checking    bool  // all is copied, and the copy is being checked
}

// Run copies the store as it is at one moment, checks the copy, and gives it its name
// at last. It returns the copy's size.
//
// SQLite's online backup copies pages within one read transaction: writers never wait
// for it, only the log grows by what they write meanwhile. VACUUM INTO reads in the
// same way, but builds every table and index anew, which keeps the log from shrinking
// for longer, and cannot say how far it is. Without the transaction a backup would
// begin anew at every commit of the process that serves.
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
	f, err := os.CreateTemp(filepath.Dir(b.To), "."+filepath.Base(b.To)+"-*.part") // for its owner alone
	if err != nil {
		return 0, err
	}
	part := f.Name()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			_ = os.Remove(part) // not there if it has its name
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

// checkNames refuses what is no store, and what must not be written over.
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
			return fmt.Errorf("%s belongs to the store itself: name another file: %w", b.To, fs.ErrExist)
		}
	}
	for _, end := range []string{"-wal", "-journal"} { // it would be taken for the copy's
		if _, err := os.Lstat(to + end); err == nil {
			return fmt.Errorf("%s%s is there: a store of that name is in use or was not stopped in order; name another file: %w", b.To, end, fs.ErrExist)
		}
	}
	switch info, err := os.Lstat(b.To); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; name another: %w", b.To, fs.ErrExist)
	case !b.Replace:
		return fmt.Errorf("%s exists already: %w", b.To, fs.ErrExist)
	}
	return nil
}

// same reports whether two paths are one file.
func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// copyTo copies all pages of one moment, and says whose they are.
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
	defer func() { // its end, whatever became of the context
		_, end := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		err = errors.Join(err, end)
	}()
	if was, err = b.identify(ctx, conn); err != nil { // the moment of the copy
		return was, explain(b.From, err)
	}
	if b.Is != nil && was.mark != string(b.Is) {
		return was, fmt.Errorf("%s is another store than the one that was used with this state directory", b.From)
	}
	return was, conn.Raw(func(c any) error { return explain(b.To, b.pages(ctx, c, part, was.page)) })
}

// pages copies them in steps, each of which is synced: otherwise the disk would have the
// whole copy to write at once, and commits of the store wait for that.
func (b Backup) pages(ctx context.Context, from any, part *os.File, page int64) (err error) {
	abs, err := filepath.Abs(part.Name())
	if err != nil {
		return err
	}
	// Nobody else has the copy, and it is thrown away unless all is well: no journal.
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

// identity is what a copy has in common with its store.
type identity struct {
	application, page, pages, schema int64
	mark                             string
}

// asker is a connection, or any of several.
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
	// Exclusive: the log needs no shared memory, which a network share may not have.
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
		look = "PRAGMA integrity_check(1)" // the indexes as well: nobody waits for it
	}
	if err := db.QueryRowContext(ctx, look).Scan(&found); err != nil {
		return 0, err
	}
	if found != "ok" {
		return 0, fmt.Errorf("the store is damaged: %s", found)
	}
	return info.Size(), nil
}

// name gives the copy its name once it is on the disk.
func (b Backup) name(part string) error {
	if err := syncFile(part); err != nil {
		return err
	}
	if !b.Replace { // somebody else may have made one meanwhile
		if _, err := os.Lstat(b.To); err == nil {
			return fmt.Errorf("%s exists already: %w", b.To, fs.ErrExist)
		}
	}
	if err := os.Rename(part, b.To); err != nil {
		return err
	}
	return syncFile(filepath.Dir(b.To))
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, unix.EINVAL) { // a folder on a file system that has no such thing
		err = nil
	}
	return errors.Join(err, f.Close())
}

// fileURI spells out the settings of a connection. The path is escaped, so it cannot
// add settings of its own.
func fileURI(path string, settings url.Values) string {
	file := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	return file.String()
}

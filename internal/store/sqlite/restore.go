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
	"time"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
	"github.com/bezoar-dev/bezoar/internal/store/record"
)

// Restore replaces a store by a backup.
type Restore struct {
	From    string // the backup; no process may write to it
	To      string // the store's file
	Replace bool   // an existing store is kept beside it, under another name
	Mark    string // as in Backup
	Is      []byte
	Now     time.Time // for that name
	Told    func(Progress)
}

// Restored describes the restored content.
type Restored struct {
	Bytes    int64  `json:"bytes"`
	Schema   int64  `json:"schema"`         // schema version of the backup; the next start may upgrade it
	Kept     string `json:"kept,omitempty"` // new name of the previous store; empty: there was none
	Verdicts int64  `json:"verdicts"`
	Queues   int64  `json:"queues"`
	Messages int64  `json:"messages"`  // includes the dead letters of queues
	Letters  int64  `json:"letters"`   // of requests
	Runs     int64  `json:"flow_runs"` // of flows
}

// Run copies the backup beside the store, checks the whole copy, and finally replaces the
// store. Until then nothing has changed. Run holds the lock of the store, so that no other
// process can use it.
func (r Restore) Run(ctx context.Context) (done Restored, err error) {
	if r.Told == nil {
		r.Told = func(Progress) {}
	}
	if r.To, err = realPath(r.To); err != nil {
		return done, err
	}
	owned, err := lock(ctx, r.To, 0)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, owned.Close()) }()
	there, err := r.checkNames()
	if err != nil {
		return done, err
	}
	if there {
		f, err := prepareFile(r.To) // a process whose lock file was deleted may have it open
		if err != nil {
			return done, err
		}
		defer f.Close()
	}
	if err := prepareDriver(); err != nil {
		return done, err
	}
	f, err := os.CreateTemp(filepath.Dir(r.To), "."+filepath.Base(r.To)+"-*.part") // readable by its owner only
	if err != nil {
		return done, err
	}
	part := f.Name()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		for _, end := range []string{"", "-journal", "-wal", "-shm"} {
			_ = os.Remove(part + end) // does not exist after the rename
		}
	}()
	if done, err = r.fill(ctx, f); err != nil {
		return done, err
	}
	if there {
		if done.Kept, err = r.keep(); err != nil {
			return done, fmt.Errorf("keep the store that is there: %w", err)
		}
	}
	if err := os.Rename(part, r.To); err != nil {
		return done, fmt.Errorf("the store that was there is kept as %s: %w", done.Kept, err)
	}
	return done, statefile.SyncDir(filepath.Dir(r.To))
}

// checkNames rejects a source that is not a backup, and a store that must not be replaced.
func (r Restore) checkNames() (there bool, err error) {
	if err := checkPath(r.From); err != nil {
		return false, err
	}
	if _, err := os.Stat(r.From); err != nil {
		return false, err
	}
	if same(r.From, r.To) {
		return false, fmt.Errorf("%s is the store itself: use a backup of it: %w", r.From, fs.ErrExist)
	}
	for _, end := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(r.From + end); err == nil && info.Size() > 0 {
			return false, fmt.Errorf("%s%s exists: %[1]s is a store in use, or one that was not shut down cleanly, not a backup; copy it with bezoar backup --store sqlite:%[1]s", r.From, end)
		}
	}
	switch _, err := os.Stat(r.To); {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(r.To + "-wal"); err == nil {
			return false, fmt.Errorf("%s-wal exists without its store: move it away; otherwise SQLite would use it with the backup: %w", r.To, fs.ErrExist)
		}
		return false, nil
	case err != nil:
		return false, err
	case !r.Replace:
		return true, fmt.Errorf("there is a store at %s already: %w", r.To, fs.ErrExist)
	}
	return true, nil
}

// fill copies the backup, and reads the whole copy.
func (r Restore) fill(ctx context.Context, part *os.File) (done Restored, err error) {
	b := Backup{From: r.From, To: r.To, Mark: r.Mark, Is: r.Is, Told: r.Told, still: true}
	was, err := b.copyTo(ctx, part)
	if err == nil {
		err = r.known(was.schema)
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return done, err
	}
	if done.Bytes, err = b.check(ctx, part.Name(), was); err != nil {
		return done, fmt.Errorf("check the backup %s: %w", r.From, err)
	}
	done.Schema = was.schema
	if err := done.count(ctx, part.Name()); err != nil {
		return done, fmt.Errorf("check the backup %s: %w", r.From, err)
	}
	return done, syncFile(part.Name())
}

func (r Restore) known(schema int64) error {
	knows, err := record.NewestSchema(migrations)
	if err == nil && schema > knows {
		err = fmt.Errorf("%s has schema version %d, this program knows versions up to %d; restore it with the bezoar that wrote it, or a newer one", r.From, schema, knows)
	}
	return err
}

// count counts the content of a store.
func (d *Restored) count(ctx context.Context, path string) (err error) {
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", fileURI(path, url.Values{"mode": {"ro"}, "immutable": {"1"}, "_query_only": {"1"}, "_pragma": {"trusted_schema(0)"}}))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	for table, n := range map[string]*int64{"verdicts": &d.Verdicts, "queues": &d.Queues, "queue_messages": &d.Messages, "letters": &d.Letters, "flow_runs": &d.Runs} {
		var there bool
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = ?", table).Scan(&there); err != nil {
			return err
		}
		if !there {
			continue // an earlier schema version
		}
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(n); err != nil {
			return err
		}
	}
	return nil
}

// keep renames the existing store. A store that was shut down cleanly is one file, which is
// then replaced in one step. The log of a killed process goes with it: it is renamed first,
// so that at no moment the file or its log is alone under a name.
func (r Restore) keep() (string, error) {
	kept := fmt.Sprintf("%s.before-%s", r.To, r.Now.UTC().Format("20060102T150405Z"))
	if _, err := os.Lstat(kept); err == nil {
		return "", fmt.Errorf("%s exists already: %w", kept, fs.ErrExist)
	}
	log := r.To + "-wal"
	if _, err := os.Lstat(log); errors.Is(err, fs.ErrNotExist) {
		err := os.Link(r.To, kept)
		if err == nil || !errors.Is(err, unix.EPERM) && !errors.Is(err, errors.ErrUnsupported) {
			return kept, err
		}
		return kept, os.Rename(r.To, kept) // the file system has no links
	}
	if err := os.Link(log, kept+"-wal"); err != nil {
		return "", fmt.Errorf("%w; start Bezoar with the store and shut it down cleanly, which leaves no log", err)
	}
	if err := os.Rename(r.To, kept); err != nil {
		return "", errors.Join(err, os.Remove(kept+"-wal"))
	}
	err := os.Remove(log)
	if shm := os.Remove(r.To + "-shm"); !errors.Is(shm, fs.ErrNotExist) {
		err = errors.Join(err, shm)
	}
	return kept, err
}

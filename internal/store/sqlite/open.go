package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	driver "modernc.org/sqlite"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/state/statefile"
	"github.com/bezoar-dev/bezoar/internal/store/tables"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/quota"
)

// DB is one open file with its stores.
type DB struct {
	path   string
	lock   *os.File
	file   *os.File // the database file, which is locked as well
	owner  *sql.DB  // pool of the writer's single connection
	writer *writer
	vacuum *vacuum
	reader *sql.DB
	shared *shared
	ledger *ledgerStore
	queue  *queueStore
	live   *settingsStore
	flow   tables.Flow
	close  func() error
}

// Open opens the file, creates it if it does not exist, upgrades its schema, and owns it
// until Close.
func Open(ctx context.Context, c Config) (_ *DB, err error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open the sqlite store: %w", err)
	}
	c = c.withDefaults()
	if c.Path, err = realPath(c.Path); err != nil {
		return nil, fmt.Errorf("open the sqlite store: %w", err)
	}
	db := &DB{path: c.Path}
	db.shared = newShared(db)
	db.close = sync.OnceValue(db.closeAll)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open the sqlite store: %w", err), db.Close())
		}
	}()
	if err := checkPath(c.Path); err != nil {
		return nil, err
	}
	if db.lock, err = lock(ctx, c.Path, c.LockWait); err != nil {
		return nil, err
	}
	if db.file, err = prepareFile(c.Path); err != nil {
		return nil, err
	}
	if err := prepareDriver(); err != nil {
		return nil, err
	}
	room := &reserve{path: c.Path + "-reserve", size: c.Reserve, within: db.reusable}
	if err := db.connect(ctx, c); err != nil {
		if !room.spend() { // on a full disk even opening needs space
			return nil, explain(c.Path, err)
		}
		if err := errors.Join(db.disconnect(), db.connect(ctx, c)); err != nil {
			return nil, explain(c.Path, err)
		}
	}
	room.open()
	db.writer.room = room
	db.ledger = &ledgerStore{Ledger: tables.Ledger{DB: db.shared}, db: db, put: db.shared.dialects[1].Fill(tables.PutLetter + `id`), maxLetters: c.MaxLetters}
	db.flow = tables.Flow{DB: db.shared}
	db.live = &settingsStore{Settings: tables.Settings{DB: db.shared}, now: time.Now}
	if db.queue, err = newQueueStore(ctx, db); err != nil {
		return nil, explain(c.Path, err)
	}
	if db.writer.watch, err = newWatch(c.Path); err != nil {
		return nil, err
	}
	db.vacuum.wake()
	return db, nil
}

// Check returns the current problem of the file, or nil.
func (db *DB) Check(context.Context) error {
	if err := db.writer.watch.look(); err != nil {
		return err
	}
	fault, _ := db.writer.room.look()
	return fault
}

func (db *DB) Ledger() ledger.Store { return db.ledger }

// Queue returns the queue engine's store.
func (db *DB) Queue() queue.Store { return db.queue }

func (db *DB) Flow() flow.Store { return db.flow }

func (db *DB) Live() live.Store { return db.live }

func (db *DB) Quota() quota.Store { return tables.Quota{DB: db.shared} }

// Close finishes running writes, rejects further ones, and releases the file.
func (db *DB) Close() error { return db.close() }

func (db *DB) closeAll() error {
	err := db.disconnect()
	if db.writer != nil && db.writer.room != nil {
		db.writer.room.open() // merging the log freed space, which may be gone at the next start
	}
	// Unlocked, not only closed: a child process that this one is starting has the
	// descriptors, too, until its program is loaded.
	if db.file != nil {
		err = errors.Join(err, release(db.file), db.file.Close())
	}
	if db.lock != nil {
		err = errors.Join(err, statefile.Unlock(db.lock), db.lock.Close())
	}
	if err != nil {
		return fmt.Errorf("close %s: %w", db.path, err)
	}
	return nil
}

func (db *DB) disconnect() error {
	var errs []error
	if db.vacuum != nil {
		db.vacuum.stop()
	}
	if db.writer != nil {
		errs = append(errs, db.writer.close())
	}
	for _, pool := range []*sql.DB{db.reader, db.owner} { // the last connection to close merges the log into the file
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(errs...)
}

func (db *DB) connect(ctx context.Context, c Config) error {
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return err
	}
	if db.owner, err = sql.Open("sqlite", dsn(path, false)); err != nil {
		return err
	}
	db.owner.SetMaxOpenConns(1)
	if err := checkEngine(ctx, db.owner); err != nil {
		return err
	}
	if err := claim(ctx, db.owner, c.Path); err != nil {
		return err
	}
	if err := migrate(ctx, db.owner, c.Path); err != nil {
		return err
	}
	if db.vacuum, err = newVacuum(ctx, db); err != nil {
		return err
	}
	conn, err := db.owner.Conn(ctx)
	if err != nil {
		return err
	}
	db.writer = newWriter(c.Path, conn, db.vacuum.wake)
	if db.reader, err = sql.Open("sqlite", dsn(path, true)); err != nil {
		return err
	}
	db.reader.SetMaxOpenConns(c.Readers)
	db.reader.SetMaxIdleConns(c.Readers)
	return db.reader.PingContext(ctx)
}

// dsn returns a data source name with all settings of a connection.
func dsn(path string, readOnly bool) string {
	settings := url.Values{
		"_busy_timeout": {"5000"}, // a shell or a backup may hold a lock
		"_synchronous":  {"FULL"},
		"_foreign_keys": {"1"},
		"_dqs":          {"0"},
		"_defensive":    {"1"},
		"_error_rc":     {"1"},
		"_pragma":       {"trusted_schema(0)", "journal_size_limit(67108864)"},
	}
	if readOnly {
		settings.Set("_query_only", "1")
	}
	return fileURI(path, settings)
}

func checkPath(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file (%s); use the path of a file", path, info.Mode().Type())
	}
	return err
}

// prepareFile creates the file, accessible to its owner only because it will contain
// payloads, and locks it.
func prepareFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("%s: user %d may not write this file; change its owner or mode, or use another file: %w", path, os.Geteuid(), err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err = onlyName(f); err == nil {
		err = hold(path, f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prepareDriver sets the process-wide switches before the first file lock. If the platform
// lacks one, or a lock was taken earlier, SQLite's defaults are safe unless other code
// closes the database file. prepareDriver itself closes no file before the switches are
// set.
func prepareDriver() error {
	driver.StrictPragmas(true)
	if _, err := driver.Fdatasync(true); err != nil && !errors.Is(err, driver.ErrFdatasyncUnavailable) {
		return fmt.Errorf("switch SQLite to fdatasync: %w", err)
	}
	if _, err := driver.OFDLocking(true); err != nil &&
		!errors.Is(err, driver.ErrOFDLockingUnavailable) && !errors.Is(err, driver.ErrOFDLockingTooLate) {
		return fmt.Errorf("switch SQLite to locks of open files: %w", err)
	}
	return nil
}

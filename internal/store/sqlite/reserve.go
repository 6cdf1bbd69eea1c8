package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/bezoar-dev/bezoar/queue"
)

// ErrFull means that there is no room for more messages. Existing messages can be received
// and deleted.
var ErrFull error = full{}

// full is the type of ErrFull.
type full struct{}

func (full) Error() string { return "the disk or quota is full" }
func (full) Unwrap() error { return queue.ErrNoSpace }

// roomEvery is the interval of checks whether there is room again.
const roomEvery = time.Second

// reserve is a file that keeps disk space for operations that must work on a full disk:
// leases and deletions grow the log for a while before they free space. When the disk is
// full, the file is removed. Writes that make the database grow are then rejected until the
// file can be created again, or the database has as much free space inside.
type reserve struct {
	path string
	size int64 // 0: no reserve
	// within returns the number of bytes in the database that are free for reuse.
	within func() int64

	mu     sync.Mutex // guards the fields below
	full   bool
	reuses bool      // there is room inside
	next   time.Time // time of the next check
}

// open creates the reserve if it does not exist. A disk without room for it counts as full.
func (r *reserve) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = r.size > 0 && r.fill() != nil
}

// fill writes the whole file, or nothing. It writes the zeros, because not every file
// system can reserve space.
func (r *reserve) fill() error {
	if info, err := os.Lstat(r.path); err == nil && info.Mode().IsRegular() && info.Size() >= r.size {
		return nil
	}
	var disk unix.Statfs_t
	if unix.Statfs(filepath.Dir(r.path), &disk) == nil && disk.Bavail*uint64(disk.Bsize) < uint64(r.size) {
		return unix.ENOSPC
	}
	_ = os.Remove(r.path) // remove an incomplete file; if it is not a file, the next step fails
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, zeros{}, r.size)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(r.path))
	}
	return nil
}

// zeros is an infinite reader of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// spend removes the file, and reports whether it freed space.
func (r *reserve) spend() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size == 0 {
		return false
	}
	r.full, r.next = true, time.Now().Add(roomEvery)
	return os.Remove(r.path) == nil
}

// look returns the error that the disk is full, and whether writes are possible
// nevertheless. It checks again at intervals.
func (r *reserve) look() (fault error, reuses bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.full && !now.Before(r.next) {
		r.next = now.Add(roomEvery)
		r.full = r.fill() != nil
		r.reuses = r.full && r.within() >= r.size
	}
	if !r.full {
		return nil, false
	}
	return fmt.Errorf("%s: %w; free some space in its directory. Messages can be received and deleted", r.path, ErrFull), r.reuses
}

// room returns the reason why the database may not grow, or nil.
func (r *reserve) room() error {
	fault, reuses := r.look()
	if reuses {
		return nil
	}
	return fault
}

// isFull reports whether an error means that there is no space.
func isFull(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == codes.SQLITE_FULL || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// reusable returns the number of free bytes in the database.
func (db *DB) reusable() (n int64) {
	var pages, size int64
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := db.reader.QueryRowContext(ctx, "SELECT freelist_count, page_size FROM pragma_freelist_count, pragma_page_size").Scan(&pages, &size)
	if err != nil {
		return 0
	}
	return pages * size
}

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
)

// ErrFull says that there is no room for more messages. Those that are there can be
// received and deleted.
var ErrFull = errors.New("the disk or quota is full")

// roomEvery is how often it is looked whether there is room again.
const roomEvery = time.Second

// reserve is a file that keeps room for what a full disk must not stop: leases and
// deletions grow the log for a while before they free anything. When the disk is
// full the file is removed, and what makes the database grow is refused until the
// file can be made again, or the database has as much room within.
type reserve struct {
	path string
	size int64 // 0: none is kept
	// within is how many bytes of the database are free for reuse.
	within func() int64

	mu     sync.Mutex // guards what follows
	full   bool
	reuses bool      // there is room within
	next   time.Time // when it is looked again
}

// open makes the reserve, if it is not there. A disk that has no room for it counts
// as full.
func (r *reserve) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = r.size > 0 && r.fill() != nil
}

// fill makes the file whole, or not at all. The zeros are written, since not every
// file system can promise room.
func (r *reserve) fill() error {
	if info, err := os.Lstat(r.path); err == nil && info.Mode().IsRegular() && info.Size() >= r.size {
		return nil
	}
	var disk unix.Statfs_t
	if unix.Statfs(filepath.Dir(r.path), &disk) == nil && disk.Bavail*uint64(disk.Bsize) < uint64(r.size) {
		return unix.ENOSPC
	}
	_ = os.Remove(r.path) // what is left of one; what is no file makes the next step fail
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

// zeros are as many as somebody reads.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// spend gives the room away, and reports whether there was some.
func (r *reserve) spend() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size == 0 {
		return false
	}
	r.full, r.next = true, time.Now().Add(roomEvery)
	return os.Remove(r.path) == nil
}

// look says that the disk is full, and whether more can be written nevertheless. It
// looks again every now and then.
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
	return fmt.Errorf("%s: %w; free some space in its folder. Messages can be received and deleted", r.path, ErrFull), r.reuses
}

// room says why the database may not grow.
func (r *reserve) room() error {
	fault, reuses := r.look()
	if reuses {
		return nil
	}
	return fault
}

// isFull reports whether an error is for lack of room.
func isFull(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == codes.SQLITE_FULL || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// reusable is how many bytes of the database are free.
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

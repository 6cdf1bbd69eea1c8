package journal

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// file is the locked file behind a journal, and its mapping.
type file struct {
	f     *os.File
	clean *uint64 // in the mapping
	run   *uint64 // in the mapping
	mem   mapping
	close func() error
}

type mapping struct {
	at   unsafe.Pointer
	size uintptr
}

// ErrInUse is wrapped if another process has the journal open.
var ErrInUse = errors.New("in use by another process")

// Open opens the journal at path, or makes one with this many slots; 0 means DefaultSlots. It returns the work that was in
// flight when the last process died without Close. A file that is damaged or not a journal is moved aside, and Note says
// so: a journal must not prevent a start.
func Open(path string, slots int) (*Journal, []Record, error) {
	slots = cmp.Or(slots, DefaultSlots)
	if slots < 0 || slots > MaxSlots {
		return nil, nil, fmt.Errorf("open the journal %s: %d slots are not within 1 to %d", path, slots, MaxSlots)
	}
	j, records, err := open(path, slots, bootID())
	if err != nil {
		return nil, nil, fmt.Errorf("open the journal %s: %w", path, err)
	}
	return j, records, nil
}

func open(path string, slots int, boot [16]byte) (*Journal, []Record, error) {
	f, content, err := lockAndRead(path)
	if err != nil {
		return nil, nil, err
	}
	found := read(content, boot)
	if found.unreadable {
		aside := path + ".unreadable"
		if err := os.Rename(path, aside); err != nil { // it may be a valuable file
			return nil, nil, errors.Join(err, f.Close())
		}
		found.note += "; it is now " + aside
		old := f
		f, _, err = lockAndRead(path)
		if err := errors.Join(err, old.Close()); err != nil {
			return nil, nil, err
		}
	}
	h := header{slots: uint32(slots), generation: found.generation + 1, boot: boot, pid: uint64(os.Getpid())}
	j := &Journal{live: live(h.generation), note: found.note, wrote: found.run, file: &file{f: f}}
	if err := j.file.rewrite(h); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	if err := j.mapFile(slots); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return j, found.records, nil
}

// Close records that the stop was requested, and releases the file. Begin and End may still be called; they write to memory
// that nobody reads.
func (j *Journal) Close() error { return j.file.close() }

// lockPatience is how long to wait for the lock: the kernel may not have closed all files of a process that has just died.
const lockPatience = time.Second

// lockAndRead returns the file, locked until it is closed, and its content.
func lockAndRead(path string) (*os.File, []byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("its folder does not exist; create it first: %w", err)
	}
	if err != nil {
		return nil, nil, err
	}
	taken, err := statefile.Lock(f, lockPatience)
	if err == nil && !taken {
		err = fmt.Errorf("it is %w%s; stop that one, or give this one another file", ErrInUse, holder(f))
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	// Read one byte more than a journal can have, to detect files that are too long.
	content, err := io.ReadAll(io.LimitReader(f, headerSize+MaxSlots*slotSize+1))
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, content, nil
}

func holder(f *os.File) string {
	content := make([]byte, headerSize)
	if _, err := f.ReadAt(content, 0); err != nil {
		return ""
	}
	if h, ok := decodeHeader(content); ok {
		return fmt.Sprintf(" (pid %d)", h.pid)
	}
	return ""
}

// rewrite clears the file. It writes zeros and leaves no holes: the disk may be full when a hole is first touched, which
// would kill the process.
func (f *file) rewrite(h header) error {
	if err := f.f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.f.WriteAt(make([]byte, int(h.slots)*slotSize), headerSize); err != nil {
		return err
	}
	_, err := f.f.WriteAt(h.encode(), 0)
	return err
}

func (j *Journal) mapFile(slots int) error {
	size := uintptr(headerSize + slots*slotSize)
	at, err := unix.MmapPtr(int(j.file.f.Fd()), 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map it into memory: %w", err)
	}
	f := j.file
	f.mem = mapping{at, size}
	f.clean = (*uint64)(unsafe.Add(at, headerClean))
	f.run = (*uint64)(unsafe.Add(at, headerRun))
	f.close = sync.OnceValue(f.closeOnce)
	j.slots = unsafe.Slice((*slot)(unsafe.Add(at, headerSize)), slots)
	for i := 0; i < slots; i += os.Getpagesize() / slotSize {
		atomic.StoreUint64(&j.slots[i][slotState], 0) // load the page now, not during the first work
	}
	runtime.AddCleanup(j, func(m mapping) { _ = unix.MunmapPtr(m.at, m.size) }, f.mem)
	return nil
}

func (f *file) closeOnce() error {
	atomic.StoreUint64(f.clean, 1)
	// Anonymous memory replaces the mapping in one step, so that late calls neither fault nor touch a file that another
	// process may use by then.
	_, err := unix.MmapPtr(-1, 0, f.mem.at, f.mem.size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED)
	return errors.Join(err, statefile.Unlock(f.f), f.f.Close())
}

// bootID identifies one run of the machine. Where the system has no such id, all runs have the same one.
func bootID() (id [16]byte) {
	digits := strings.ReplaceAll(statefile.Boot(), "-", "")
	if len(digits) == 2*len(id) {
		_, _ = hex.Decode(id[:], []byte(digits)) // an incomplete one still works
	}
	return id
}

// The layout of the file: a header of one page, then the slots.
const (
	headerSize  = 4096
	headerClean = 64 // offset of a word that Close sets
	headerRun   = 72 // offset of a word that SetRun sets
	slotSize    = 64
)

type header struct {
	slots      uint32
	generation uint32
	pid        uint64
	boot       [16]byte
	clean      bool
	run        uint64
}

const magic = "bzjrnl\x00\x01"

func (h header) encode() []byte {
	b := make([]byte, headerSize)
	copy(b, magic)
	binary.NativeEndian.PutUint32(b[8:], h.slots)
	binary.NativeEndian.PutUint32(b[12:], h.generation)
	binary.NativeEndian.PutUint64(b[16:], h.pid)
	copy(b[24:], h.boot[:])
	binary.NativeEndian.PutUint64(b[40:], headerSum(b))
	return b
}

func decodeHeader(b []byte) (h header, ok bool) {
	if len(b) < headerSize || string(b[:8]) != magic || binary.NativeEndian.Uint64(b[40:]) != headerSum(b) {
		return h, false
	}
	h.slots = binary.NativeEndian.Uint32(b[8:])
	h.generation = binary.NativeEndian.Uint32(b[12:])
	h.pid = binary.NativeEndian.Uint64(b[16:])
	copy(h.boot[:], b[24:])
	h.clean = binary.NativeEndian.Uint64(b[headerClean:]) == 1
	h.run = binary.NativeEndian.Uint64(b[headerRun:])
	return h, true
}

func headerSum(b []byte) uint64 {
	var s slot
	for i := range 5 {
		s[slotPrint0+i] = binary.NativeEndian.Uint64(b[8*i:])
	}
	return s.sum(0)
}

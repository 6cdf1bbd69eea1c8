package startlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// MaxSlots bounds the messages that are recorded at one time.
const MaxSlots = 1 << 14

const (
	lockWait = time.Second
)

// Record is one message that is being run.
type Record struct {
	ID      string             `json:"id"`
	Receipt string             `json:"receipt"`
	Queue   string             `json:"queue"`
	Group   string             `json:"group,omitempty"`
	Payload bezoar.Fingerprint `json:"payload,omitzero"`
	At      time.Time          `json:"at"`
	// Running says that it has begun. Only a machine's death can lose this.
	Running bool   `json:"running,omitempty"`
	Boot    string `json:"boot"` // of the machine, set by Begin
	// PID and Since identify the child that runs it. Since is its start time as the kernel counts it.
	PID   int    `json:"pid,omitempty"`
	Since uint64 `json:"since,omitempty"`
	Ended *Ended `json:"ended,omitempty"` // it had ended, and nobody had been told
}

// Ended is how a message's run ended.
type Ended struct {
	Class   bezoar.Class `json:"class"`
	Failure string       `json:"failure,omitempty"`
	Reason  string       `json:"reason,omitempty"`
}

// Left is a record from the previous owner. Its slot is in use until it is cleared.
type Left struct {
	Slot int
	Record
}

// Log is an open start log. All methods are safe for concurrent use.
type Log struct {
	lock *os.File
	file *os.File
	sync syncer
	note string
	boot string

	mu   sync.Mutex // guards free
	free []int
	some chan struct{} // signalled when a slot becomes free
}

// InUseError says that another process has the folder.
type InUseError struct {
	Dir string
	PID int // 0: unknown
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("the state directory %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("the state directory %s is in use by process %d", e.Dir, e.PID)
}

// Open takes the start log in a folder, and makes the folder if necessary. It returns what the last owner was running when
// it died.
func Open(dir string, slots int) (*Log, []Left, error) {
	if slots < 1 || slots > MaxSlots {
		return nil, nil, fmt.Errorf("open the start log in %s: %d slots are not within 1 to %d", dir, slots, MaxSlots)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the state directory: %w", err)
	}
	lock, err := Own(dir)
	if err != nil {
		return nil, nil, err
	}
	l := &Log{lock: lock, boot: statefile.Boot(), some: make(chan struct{}, 1)}
	left, err := l.load(filepath.Join(dir, "starts"), slots)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the start log in %s: %w", dir, err), lock.Close())
	}
	l.sync.sync = func() error { return statefile.Datasync(l.file) }
	return l, left, nil
}

// Note returns what was wrong with the file that Open found, or "".
func (l *Log) Note() string { return l.note }

// Begin records that messages are about to run, and returns their slots once that is durable. It waits for free slots.
func (l *Log) Begin(all ...Record) (slots []int, err error) {
	pages := make([][]byte, len(all))
	for i, r := range all {
		r.Boot = l.boot
		if pages[i], err = encode(r); err != nil {
			return nil, err
		}
	}
	slots = make([]int, len(all))
	for i := range slots {
		slots[i] = l.take()
	}
	for i, page := range pages {
		if _, err = l.file.WriteAt(page, at(slots[i])); err != nil {
			break
		}
	}
	if err == nil {
		err = l.sync.wait()
	}
	if err != nil {
		for _, slot := range slots {
			l.give(slot)
		}
		return nil, fmt.Errorf("record the start of %d messages: %w", len(all), err)
	}
	return slots, nil
}

// Running records that a message has begun.
func (l *Log) Running(slot int) error { return l.mark(slot, running) }

// Done records that a message has ended well.
func (l *Log) Done(slot int) error { return l.mark(slot, done) }

func (l *Log) mark(slot int, state byte) error {
	if _, err := l.file.WriteAt([]byte{state}, at(slot)+stateAt); err != nil {
		return fmt.Errorf("mark slot %d of the start log: %w", slot, err)
	}
	return nil
}

// Amend replaces the record in a slot. The change may be lost when the machine dies.
func (l *Log) Amend(slot int, r Record) error {
	r.Boot = l.boot
	page, err := encode(r)
	if err != nil {
		return err
	}
	if _, err := l.file.WriteAt(page, at(slot)); err != nil {
		return fmt.Errorf("amend the record of message %.100s: %w", r.ID, err)
	}
	return nil
}

// Clear gives a slot back: its message has ended and its result has been reported.
func (l *Log) Clear(slot int) error {
	_, err := l.file.WriteAt(make([]byte, stateAt), at(slot))
	l.give(slot)
	if err != nil {
		return fmt.Errorf("clear slot %d of the start log: %w", slot, err)
	}
	return nil
}

// Stopping records that the owner was asked to stop. If it dies after that, its running messages count as interrupted, and
// nothing is to blame.
func (l *Log) Stopping() error {
	if _, err := l.file.WriteAt([]byte{1}, stoppedAt); err != nil {
		return fmt.Errorf("record that the worker stops: %w", err)
	}
	return nil
}

// Close releases the folder. The records stay.
func (l *Log) Close() error {
	return errors.Join(l.file.Close(), l.lock.Close())
}

func (l *Log) take() int {
	for {
		l.mu.Lock()
		if n := len(l.free); n > 0 {
			slot := l.free[n-1]
			l.free = l.free[:n-1]
			l.mu.Unlock()
			return slot
		}
		l.mu.Unlock()
		<-l.some
	}
}

func (l *Log) give(slot int) {
	l.mu.Lock()
	l.free = append(l.free, slot)
	l.mu.Unlock()
	select {
	case l.some <- struct{}{}:
	default:
	}
}

// Own takes the lock of a folder, which ends when the file is closed. If another process has it, the error is an
// [InUseError].
func Own(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	taken, err := statefile.Lock(f, lockWait)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the state directory %s: %w", dir, err), f.Close())
	}
	if !taken {
		text := make([]byte, 20)
		n, _ := f.ReadAt(text, 0)
		pid, _ := strconv.Atoi(string(text[:max(n-1, 0)])) // without the line end
		return nil, errors.Join(&InUseError{Dir: dir, PID: pid}, f.Close())
	}
	line := strconv.Itoa(os.Getpid()) + "\n"
	_ = f.Truncate(0) // it is only for people
	_, _ = f.WriteAt([]byte(line), 0)
	return f, nil
}

// Free reports whether no process has a folder at the moment.
func Free(dir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		return os.IsNotExist(err), err
	}
	free, err := statefile.TryLock(f)
	return free, errors.Join(err, f.Close()) // closing unlocks it
}

package startlog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// A file has a page with its header, and a page for each slot: the CRC-32C of length and text, the length, a byte with the
// progress that is not in the checksum, and a Record in JSON, the text.
const (
	page      = 4096
	prefix    = 9
	stateAt   = 8
	magic     = "bezoar starts 1\n"
	stoppedAt = int64(len(magic))
)

func at(slot int) int64 { return int64(slot+1) * page }

func checksum(b []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(b[4:stateAt], table), table, b[prefix:])
}

func encode(r Record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("record message %.100s: %w", r.ID, err)
	}
	if len(text) > page-prefix {
		return nil, fmt.Errorf("record message %.100s: it takes %d bytes, more than %d", r.ID, len(text), page-prefix)
	}
	b := make([]byte, prefix, prefix+len(text))
	b = append(b, text...)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(text)))
	binary.LittleEndian.PutUint32(b, checksum(b))
	if r.Running {
		b[stateAt] = running
	}
	return b, nil
}

// The states of a slot with a record.
const (
	due = iota
	running
	done
)

// decode reads one slot. A torn slot has no record.
func decode(b []byte) (r Record, ok bool) {
	if len(b) < prefix {
		return r, false
	}
	n := int(binary.LittleEndian.Uint32(b[4:]))
	if n == 0 || n > len(b)-prefix || binary.LittleEndian.Uint32(b) != checksum(b[:prefix+n]) {
		return r, false
	}
	if json.Unmarshal(b[prefix:prefix+n], &r) != nil || r.ID == "" {
		return r, false
	}
	r.Running = r.Running || b[stateAt] != due
	if b[stateAt] == done {
		r.Ended = &Ended{Class: bezoar.Done}
	}
	return r, true
}

// load opens or makes the file, and finds the records in it.
func (l *Log) load(path string, slots int) (left []Left, err error) {
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, l.make(path, slots)
	case err != nil:
		return nil, err
	}
	if len(b) < page || string(b[:len(magic)]) != magic {
		aside := path + ".damaged"
		if err := os.Rename(path, aside); err != nil {
			return nil, err
		}
		l.note = fmt.Sprintf("the start log could not be read and is now %s: it is not known what was running when the last worker died", aside)
		return nil, l.make(path, slots)
	}
	stopped := b[stoppedAt] != 0
	had := len(b)/page - 1
	used := map[int]bool{}
	for i := range had {
		if r, ok := decode(b[at(i):at(i+1)]); ok {
			left, used[i] = append(left, Left{Slot: i, Record: r}), true
		}
	}
	if l.file, err = os.OpenFile(path, os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	// Old records keep their slots until they have been handled, so more slots are needed.
	if err := l.extend(had, slots+len(left), left, stopped); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	for i := max(had, slots+len(left)) - 1; i >= 0; i-- {
		if !used[i] {
			l.free = append(l.free, i)
		}
	}
	return left, nil
}

// extend makes room. If the last owner was stopped in order, or a message had not begun, it records the message as
// interrupted before it clears the mark of the stop. A message whose mark may have been lost when the machine died counts
// as running.
func (l *Log) extend(had, want int, left []Left, stopped bool) error {
	if want > had {
		if _, err := l.file.WriteAt(make([]byte, (want-had)*page), at(had)); err != nil {
			return err
		}
	}
	for i := range left {
		r := &left[i].Record
		waited := !r.Running && r.Boot == l.boot && l.boot != ""
		switch {
		case r.Ended != nil || !waited && !stopped:
			continue
		case waited:
			r.Ended = &Ended{Class: bezoar.Interrupted, Reason: "the worker died before this message had begun"}
		default:
			r.Ended = &Ended{Class: bezoar.Interrupted, Reason: "the worker was stopped while it ran this message"}
		}
		if err := l.Amend(left[i].Slot, left[i].Record); err != nil {
			return err
		}
	}
	if _, err := l.file.WriteAt([]byte{0}, stoppedAt); err != nil {
		return err
	}
	return l.file.Sync()
}

// make writes an empty file, atomically.
func (l *Log) make(path string, slots int) (err error) {
	b := make([]byte, (slots+1)*page)
	copy(b, magic)
	if err := errors.Join(statefile.Replace(path, b), statefile.SyncDir(filepath.Dir(path))); err != nil {
		return err
	}
	if l.file, err = os.OpenFile(path, os.O_RDWR, 0o600); err != nil {
		return err
	}
	for i := slots - 1; i >= 0; i-- {
		l.free = append(l.free, i)
	}
	return nil
}

package taskrun

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/bezoar-dev/bezoar/flow"
)

// A journal is two files of records; the older one is dropped when the newer one is full. A record is a head of 17 bytes —
// CRC-32C of the rest, length of the text, token, kind — followed by the text: for an end, its Ending in JSON.
type journal struct {
	dir string

	mu    sync.Mutex // guards the fields below
	files [2]*os.File
	size  int64 // of files[0], the newer one
	index map[int64]place
	gen   uint32 // of files[0]
	buf   []byte
}

// place is the position of a token's last record.
type place struct {
	at   int64
	len  uint32
	gen  uint32
	kind byte
}

const (
	recordHead  = 17
	journalSize = 64 << 20
	maxRecord   = 64 << 20
)

// The kinds of records.
const (
	kindBegun = 'b'
	kindEnded = 'e'
	kindVoid  = 'v' // the attempt must not start any more
)

func openJournal(dir string) (*journal, error) {
	j := &journal{dir: dir, index: map[int64]place{}, gen: 1}
	for i := len(j.files) - 1; i >= 0; i-- {
		f, err := os.OpenFile(j.name(i), os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			j.files[i] = f
			j.size, err = j.load(f, j.gen-uint32(i))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the journal of attempts: %w", err), j.close())
		}
	}
	return j, nil
}

func (j *journal) name(i int) string {
	return filepath.Join(j.dir, [...]string{"journal", "journal.1"}[i])
}

// load reads one file. Records after a torn one were never acknowledged.
func (j *journal) load(f *os.File, gen uint32) (size int64, err error) {
	b, err := io.ReadAll(f)
	if err != nil {
		return 0, err
	}
	for {
		rest := b[size:]
		if len(rest) < recordHead {
			break
		}
		n := binary.LittleEndian.Uint32(rest[4:])
		if n > maxRecord || int(n) > len(rest)-recordHead || binary.LittleEndian.Uint32(rest) != sum(rest[4:recordHead+int(n)]) {
			break
		}
		j.index[int64(binary.LittleEndian.Uint64(rest[8:]))] = place{at: size + recordHead, len: n, gen: gen, kind: rest[16]}
		size += recordHead + int64(n)
	}
	if size < int64(len(b)) {
		return size, f.Truncate(size)
	}
	return size, nil
}

func sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// begin records that an attempt is about to start. It reports false if the token is known: it began already, or must not
// begin.
func (j *journal) begin(token int64) (bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, known := j.index[token]; known {
		return false, nil
	}
	return true, j.append(token, kindBegun, nil)
}

// isVoid reports whether an attempt must not begin.
func (j *journal) isVoid(token int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.index[token].kind == kindVoid
}

// void records that an attempt must not begin, unless it has ended.
func (j *journal) void(token int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p, known := j.index[token]; known && p.kind != kindBegun {
		return nil
	}
	return j.append(token, kindVoid, nil)
}

// end records the end of an attempt.
func (j *journal) end(token int64, e *flow.Ending) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.append(token, kindEnded, text)
}

func (j *journal) append(token int64, kind byte, text []byte) error {
	b := append(j.buf[:0], make([]byte, recordHead)...)
	b = append(b, text...)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(text)))
	binary.LittleEndian.PutUint64(b[8:], uint64(token))
	b[16] = kind
	binary.LittleEndian.PutUint32(b, sum(b[4:]))
	if j.buf = b; cap(b) > maxOutputRecord {
		j.buf = nil
	}
	if _, err := j.files[0].WriteAt(b, j.size); err != nil {
		return errors.Join(fmt.Errorf("write the journal of attempts: %w", err), j.files[0].Truncate(j.size))
	}
	j.index[token] = place{at: j.size + recordHead, len: uint32(len(text)), gen: j.gen, kind: kind}
	j.size += int64(len(b))
	return nil
}

// maxOutputRecord is the largest buffer in bytes that is kept.
const maxOutputRecord = 256 << 10

// find returns the state of a token. The ending is nil unless it has ended.
func (j *journal) find(token int64) (e *flow.Ending, known bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p, known := j.index[token]
	if !known || p.kind != kindEnded {
		return nil, known, nil
	}
	b := make([]byte, p.len)
	if _, err := j.files[j.gen-p.gen].ReadAt(b, p.at); err != nil {
		return nil, true, fmt.Errorf("read the journal of attempts: %w", err)
	}
	e = new(flow.Ending)
	if err := json.Unmarshal(b, e); err != nil {
		return nil, true, fmt.Errorf("read the journal of attempts: %w", err)
	}
	return e, true, nil
}

// full reports whether [journal.turn] must be called.
func (j *journal) full() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size >= journalSize
}

// turn drops the older file and begins a new one with the running attempts.
func (j *journal) turn(running []int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := os.Rename(j.name(0), j.name(1)); err != nil {
		return err
	}
	f, err := os.OpenFile(j.name(0), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, os.Rename(j.name(1), j.name(0)))
	}
	_ = j.files[1].Close()
	j.files, j.size, j.gen = [2]*os.File{f, j.files[0]}, 0, j.gen+1
	maps.DeleteFunc(j.index, func(_ int64, p place) bool { return p.gen+1 < j.gen })
	for _, token := range running {
		if p, known := j.index[token]; !known || p.kind == kindBegun {
			if err := j.append(token, kindBegun, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *journal) close() error {
	var errs []error
	for _, f := range j.files {
		if f != nil {
			if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

package rowfeed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
	"github.com/bezoar-dev/bezoar/sift"
)

// begin is a state's first record: it describes the input.
type begin struct {
	Version int    `json:"v"`
	ID      string `json:"id"`
	Size    int64  `json:"size"` // of the input
	Sum     string `json:"sum"`
	Rows    int    `json:"rows"`
	Format  string `json:"format"`
	Base    int64  `json:"base"` // length of the output before
}

const version = 1

// record is one line of a state. It describes an event, and is durable before the event has consequences.
type record struct {
	Begin *begin `json:"begin,omitempty"`
	// Done holds the rows that a run has finished.
	Done [][2]int `json:"done,omitempty"`
	// Held is the offset and length of their output in the hold file; nil if it is in the output.
	Held *[2]int64 `json:"held,omitempty"`
	// Out is the progress of the output.
	Out *reached `json:"out,omitempty"`
	// Letter was set aside; Told holds the rows whose letters the sink has.
	Letter *sift.Letter `json:"letter,omitempty"`
	Told   []int        `json:"told,omitempty"`
}

// reached means that the output contains everything of the rows before Row, and is End bytes long.
type reached struct {
	Row int   `json:"row"`
	End int64 `json:"end"`
}

// state is the file of records. The zero state has no file and keeps nothing.
type state struct {
	f *os.File
}

// openState opens or creates the file, locks it, and returns its records. It drops a record that a crash cut off.
func openState(path string) (*state, []record, error) {
	if path == "" {
		return &state{}, nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the state: %w", err)
	}
	fail := func(err error) (*state, []record, error) {
		return nil, nil, errors.Join(fmt.Errorf("state %s: %w", path, err), f.Close())
	}
	switch taken, err := statefile.Lock(f, lockWait); {
	case err != nil:
		return fail(fmt.Errorf("lock it: %w", err))
	case !taken:
		return fail(errors.New("another run uses it"))
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return fail(err)
	}
	recs, n := decode(text)
	if len(recs) == 0 && !torn(text) || len(recs) > 0 && recs[0].Begin == nil {
		return fail(&InputError{errors.New("it is not a state file")})
	}
	if len(recs) > 0 && recs[0].Begin.Version != version {
		return fail(&InputError{fmt.Errorf("written by another version (%d, this reads %d)", recs[0].Begin.Version, version)})
	}
	if damaged(text[n:]) {
		return fail(&InputError{fmt.Errorf("it is damaged at byte %d: start again, without it", n)})
	}
	if err := f.Truncate(int64(n)); err != nil {
		return fail(err)
	}
	if _, err := f.Seek(int64(n), io.SeekStart); err != nil {
		return fail(err)
	}
	return &state{f: f}, recs, nil
}

// lockWait is how long to wait for the lock: a predecessor that was killed may have left a child between fork and exec.
const lockWait = 2 * time.Second

// torn reports whether the file can be the beginning of a first record.
func torn(text []byte) bool {
	return len(text) == 0 || !bytes.Contains(text, []byte("\n")) && len(text) > 18 && string(text[8:18]) == ` {"begin":`
}

// damaged reports whether the end of a state, from the first incomplete record on, is more than one interrupted write:
// complete records follow it. If the beginning of a write did not reach the disk, there are zeros in its place.
func damaged(end []byte) bool {
	bad, rest, _ := bytes.Cut(end, []byte("\n"))
	for !bytes.ContainsRune(bad, 0) && len(rest) > 0 {
		if recs, _ := decode(rest); len(recs) > 0 {
			return true
		}
		bad, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	return false
}

// write appends records durably.
func (s *state) write(recs ...record) error {
	if s.f == nil {
		return nil
	}
	var out []byte
	for _, r := range recs {
		line, err := encode(r)
		if err != nil {
			return fmt.Errorf("write the state: %w", err)
		}
		out = append(out, line...)
	}
	if _, err := s.f.Write(out); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	if err := s.f.Sync(); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	return nil
}

func (s *state) Close() error {
	if s.f == nil {
		return nil
	}
	return errors.Join(statefile.Unlock(s.f), s.f.Close())
}

// encode formats a record: its checksum, a space, JSON, a line end.
func encode(r record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", checksum(text), text), nil
}

// decode parses records up to the first incomplete one, and returns its offset.
func decode(text []byte) (recs []record, n int) {
	for {
		line, _, whole := bytes.Cut(text[n:], []byte("\n"))
		sum, body, ok := bytes.Cut(line, []byte(" "))
		if !whole || !ok || len(sum) != 8 {
			return recs, n
		}
		want, err := strconv.ParseUint(string(sum), 16, 32)
		if err != nil || uint32(want) != checksum(body) {
			return recs, n
		}
		var r record
		if err := json.Unmarshal(body, &r); err != nil {
			return recs, n
		}
		recs, n = append(recs, r), n+len(line)+1
	}
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

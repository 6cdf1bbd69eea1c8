package lastrun

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar/internal/state/statefile"
)

// The files, in Config.Dir.
const (
	fileName = "crash.txt"
	keptName = "crash.last.txt"
)

const (
	headSize = 256
	maxText  = 1 << 20 // of a crash that is kept
)

// head is the first line of the file, padded to headSize bytes.
type head struct {
	id      uint64
	boot    string
	pid     int
	began   time.Time
	count   count
	orderly bool
}

const headForm = "bezoar-run 1 id=%016x boot=%s pid=%d began=%d group=%s kills=%d end=%s"

func (h head) encode() []byte {
	group, end := h.count.group, "none"
	group = cmp.Or(group, "-")
	if h.orderly {
		end = "orderly"
	}
	line := fmt.Sprintf(headForm, h.id, h.boot, h.pid, h.began.UnixNano(), group, h.count.kills, end)
	line += fmt.Sprintf(" sum=%08x", crc32.ChecksumIEEE([]byte(line)))
	b := bytes.Repeat([]byte(" "), headSize)
	copy(b, line)
	b[headSize-1] = '\n'
	return b
}

func decode(content []byte) (h head, ok bool) {
	if len(content) < headSize {
		return h, false
	}
	var began int64
	var end string
	n, err := fmt.Sscanf(string(content[:headSize]), headForm, &h.id, &h.boot, &h.pid, &began, &h.count.group, &h.count.kills, &end)
	if err != nil || n != 7 {
		return head{}, false
	}
	h.began, h.orderly = time.Unix(0, began), end == "orderly"
	if h.count.group == "-" {
		h.count = count{}
	}
	return h, bytes.Equal(h.encode(), content[:headSize])
}

// textOf returns what the runtime has written after the head.
func textOf(content []byte) []byte {
	if len(content) <= headSize {
		return nil
	}
	return content[headSize:]
}

// openFile returns the file, locked until it is closed, and its content.
func openFile(dir string) (*os.File, []byte, error) {
	path := filepath.Join(dir, fileName)
	// A pipe must not block, and a link must not be followed.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil, fmt.Errorf("%s is a symbolic link: remove it", path)
	}
	if err != nil {
		return nil, nil, err
	}
	content, err := lockAndRead(f)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, content, nil
}

func lockAndRead(f *os.File) ([]byte, error) {
	trusted, err := check(f)
	if err != nil {
		return nil, err
	}
	switch taken, err := statefile.Lock(f, lockPatience); {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	case !taken:
		return nil, fmt.Errorf("%s is in use by another process", f.Name())
	}
	if !trusted {
		return nil, nil
	}
	return io.ReadAll(io.LimitReader(f, headSize+maxText))
}

// lockPatience is how long to wait for a lock that a child of the last run may still have.
const lockPatience = 250 * time.Millisecond

// check refuses files that are not our own. If others could write to the file, it removes that permission and reports the
// content as untrusted.
func check(f *os.File) (trusted bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is not a file but %s: remove it", f.Name(), info.Mode().Type())
	case ok && int(st.Uid) != os.Geteuid():
		return false, fmt.Errorf("%s belongs to user %d, not to user %d who runs this: remove it", f.Name(), st.Uid, os.Geteuid())
	case ok && st.Nlink != 1:
		return false, fmt.Errorf("%s has %d names (hard links): remove it", f.Name(), st.Nlink)
	case info.Mode().Perm() != 0o600:
		return info.Mode().Perm()&0o022 == 0, f.Chmod(0o600)
	}
	return true, nil
}

// begin empties the file, writes h, and moves the write position after it.
func begin(f *os.File, h head) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	if err := write(f, h); err != nil {
		return err
	}
	_, err := f.Seek(headSize, io.SeekStart)
	return err
}

// write replaces the head. It does not move the position where the runtime writes.
func write(f *os.File, h head) error {
	_, err := f.WriteAt(h.encode(), 0)
	return err
}

// keep copies the text of a crash to a file that the next crash will replace.
func keep(dir string, text []byte) error {
	return statefile.Replace(filepath.Join(dir, keptName), text)
}

package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/bezoar-dev/bezoar/guard"
)

// maxGuardFile bounds a file of limits or hints, which is read whole.
const maxGuardFile = 16 << 20

// utf8BOM is what some editors write before a text.
const utf8BOM = "\ufeff"

// readWhole reads a file, or standard input for -, up to most bytes.
func readWhole(s *session, file string, most int64) (data []byte, more bool, err error) {
	in, err := s.input(file)
	if err != nil {
		return nil, false, unreadable(file, err)
	}
	defer in.Close()
	data, err = io.ReadAll(io.LimitReader(inUTF8(bufio.NewReader(readerUntil{s, in})), most+1))
	if err != nil {
		return nil, false, unreadable(file, err)
	}
	return bytes.TrimPrefix(data, []byte(utf8BOM)), int64(len(data)) > most, nil
}

// inUTF8 converts text that begins with the byte order mark of UTF-16, as some shells write it, to UTF-8.
func inUTF8(in *bufio.Reader) io.Reader {
	head, _ := in.Peek(2) // the next read returns the error again
	if string(head) != "\xff\xfe" && string(head) != "\xfe\xff" {
		return in
	}
	return transform.NewReader(in, unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder())
}

// readGuardFile reads limits or hints.
func readGuardFile(s *session, file string) ([]byte, error) {
	data, more, err := readWhole(s, file, maxGuardFile)
	if err == nil && more {
		err = exitf(exitUsage, "%s is larger than %d MiB", clean(file), maxGuardFile>>20)
	}
	return data, err
}

// unreadable gives exit code 3 for a missing file and 2 for a file that cannot be read. Code 1 is for rejected queries.
func unreadable(file string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &exitError{code: exitNotFound, err: err}
	}
	if _, ok := errors.AsType[*fs.PathError](err); !ok {
		err = fmt.Errorf("read %s: %w", clean(file), err)
	}
	return &exitError{code: exitUsage, err: err}
}

// twice refuses to read standard input for two purposes.
func twice(files ...string) error {
	n := 0
	for _, f := range files {
		if f == "-" {
			n++
		}
	}
	if n > 1 {
		return exitf(exitUsage, "- is standard input, which can be read only once")
	}
	return nil
}

// maxLogWindow bounds the memory for decompressing zstd: the default of the zstd tool.
const maxLogWindow = 128 << 20

// lineFiles reads files one after the other, as one file of lines. It decompresses gzip and zstd, converts UTF-16, and
// drops a byte order mark at the beginning of a file.
type lineFiles struct {
	s    *session
	left []string
	name string // of the current file
	now  io.Reader
	file *os.File
	last byte  // last byte that was read
	read int64 // bytes on disk that were read
	of   int64 // bytes of all files; 0: unknown
}

// openLines checks that the files can be opened; it reads them later.
func openLines(s *session, files []string) (*lineFiles, error) {
	l := &lineFiles{s: s, left: files, last: '\n'}
	known := true
	for _, name := range files {
		if name == "-" {
			known = false
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, unreadable(name, err)
		}
		info, err := f.Stat()
		_ = f.Close() // it was only opened as a check
		switch {
		case err != nil:
			return nil, unreadable(name, err)
		case info.IsDir():
			return nil, exitf(exitUsage, "%s is a directory", clean(name))
		case !info.Mode().IsRegular():
			known = false
		}
		l.of += info.Size()
	}
	if !known {
		l.of = 0
	}
	return l, nil
}

// Read implements io.Reader.
func (l *lineFiles) Read(b []byte) (int, error) {
	for {
		if err := l.s.Err(); err != nil {
			return 0, err
		}
		if l.now == nil {
			if len(l.left) == 0 {
				return 0, io.EOF
			}
			if err := l.next(); err != nil {
				return 0, err
			}
		}
		n, err := l.now.Read(b)
		if n > 0 {
			l.last = b[n-1]
			return n, nil
		}
		switch {
		case errors.Is(err, io.EOF):
			l.close()
			if l.last != '\n' && len(l.left) > 0 { // the next file begins a new line
				l.last, b[0] = '\n', '\n'
				return 1, nil
			}
		case err != nil:
			return 0, unreadable(l.name, err)
		}
	}
}

func (l *lineFiles) close() {
	l.now = nil
	if l.file != nil {
		_ = l.file.Close() // it was only read
		l.file = nil
	}
}

func (l *lineFiles) next() error {
	l.name, l.left = l.left[0], l.left[1:]
	raw := l.s.Stdin
	if l.name != "-" {
		f, err := os.Open(l.name)
		if err != nil {
			return unreadable(l.name, err)
		}
		l.file, raw = f, f
	}
	in := bufio.NewReaderSize(counting{raw, &l.read}, 64<<10)
	head, _ := in.Peek(4) // the next read returns the error again
	l.now = in
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		z, err := gzip.NewReader(in)
		if err != nil {
			return unreadable(l.name, err)
		}
		l.now = z
	case string(head) == "\x28\xb5\x2f\xfd":
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxLogWindow))
		if err != nil {
			return unreadable(l.name, err)
		}
		l.now = z
	case bytes.HasPrefix(head, []byte(utf8BOM)):
		_, _ = in.Discard(len(utf8BOM)) // these bytes are buffered
	default:
		l.now = inUTF8(in)
	}
	return nil
}

// counting counts the bytes that are read.
type counting struct {
	r io.Reader
	n *int64
}

func (c counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	*c.n += int64(n)
	return n, err
}

// watchedLines shows how much of a long log was read.
type watchedLines struct {
	*lineFiles
	show *longWork
}

func (w watchedLines) Read(b []byte) (int, error) {
	w.show.tell(w.read, w.of, func() string {
		if w.of == 0 {
			return "read " + size(uint64(w.read))
		}
		return fmt.Sprintf("read %s of %s", size(uint64(w.read)), size(uint64(w.of)))
	})
	return w.lineFiles.Read(b)
}

// watched shows progress until done is called.
func (l *lineFiles) watched() (r io.Reader, done func()) {
	show := newLongWork(l.s)
	show.number = func(n int) string { return size(uint64(n)) }
	return watchedLines{l, show}, show.clear
}

// changed returns the age of a file, by its last change.
func changed(file string, now time.Time) time.Time {
	if info, err := os.Stat(file); err == nil {
		return info.ModTime()
	}
	return now
}

// guardOf makes a guard from files; limits may be "".
func (f guardFlags) guardOf(s *session, limits string) (*guard.Guard, error) {
	var c guard.Config
	if limits != "" {
		data, err := readGuardFile(s, limits)
		if err != nil {
			return nil, err
		}
		if c.Limits, err = guard.ParseLimits(limits, data); err != nil {
			return nil, &exitError{code: exitUsage, err: err}
		}
	}
	if f.Hints != "" {
		data, err := readGuardFile(s, f.Hints)
		if err != nil {
			return nil, err
		}
		set, warnings, err := guard.ParseHints(f.Hints, data)
		if err != nil {
			return nil, &exitError{code: exitUsage, err: err}
		}
		for _, w := range warnings {
			s.say("warning: %s", clean(w))
		}
		store := &guard.HintStore{}
		if err := store.Set(guard.Static, set, changed(f.Hints, s.now())); err != nil {
			return nil, err
		}
		c.Hints = store
	}
	return guard.New(c)
}

package rowfeed

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/rows"
)

// input is a file with known rows.
type input struct {
	*rows.Index
	file    io.ReaderAt
	closer  *os.File
	size    int64
	changed time.Time // zero for our own copy
	spooled bool
}

// InputError is an error of the input or of its state, not of rows.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }
func (e *InputError) Unwrap() error { return e.Err }

// openInput finds the rows of the input. spool is the path of a copy, for an input that cannot be read twice; "" for an
// unnamed file. old describes the input that the state requires, nil for any.
func (c Config) openInput(spool string, old *begin) (*input, error) {
	from, f, err := c.source()
	if err != nil {
		return nil, &InputError{err}
	}
	in := &input{spooled: f == nil}
	if in.spooled {
		f, err = copied(from, spool, old)
		if from, ok := from.(*os.File); ok && c.Input != "" {
			err = errors.Join(err, from.Close())
		}
		if err != nil {
			return nil, err
		}
	}
	in.closer = f
	if err := in.read(f, c.Rows); err != nil {
		return nil, errors.Join(&InputError{err}, f.Close())
	}
	if old != nil && in.Sum != old.Sum {
		f.Close()
		return nil, &InputError{fmt.Errorf("the state belongs to another input, of %d bytes with the checksum %.12s: this one has %d with %.12s", old.Size, old.Sum, in.Size, in.Sum)}
	}
	return in, nil
}

// source opens the input. It returns a file if the input can be read at any offset. A named pipe is opened only once: its
// writer may not open it again.
func (c Config) source() (from io.Reader, f *os.File, err error) {
	from = c.Stdin
	if c.Input != "" {
		if f, err = os.Open(c.Input); err != nil {
			return nil, nil, fmt.Errorf("open the input: %w", err)
		}
		from = f
	} else if given, ok := c.Stdin.(*os.File); ok {
		f = given
	}
	if f == nil {
		return from, nil, nil
	}
	st, err := f.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("open the input: %w", err)
	case st.IsDir():
		err = fmt.Errorf("open the input: %s is a directory", f.Name())
	case st.Mode().IsRegular():
		return from, f, nil
	}
	if err != nil && c.Input != "" {
		err = errors.Join(err, f.Close())
	}
	return from, nil, err
}

func (in *input) read(f *os.File, cfg rows.Config) error {
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	// Content that a shell's read consumed before is not part of the input.
	from, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	in.size = st.Size()
	if !in.spooled {
		in.changed = st.ModTime()
	}
	section := io.NewSectionReader(f, from, max(0, in.size-from))
	in.file = section
	in.Index, err = rows.Read(io.NewSectionReader(section, 0, section.Size()), cfg)
	return err
}

// unchanged checks that the file is the same as when its rows were found. Content may have been appended.
func (in *input) unchanged() error {
	if in.changed.IsZero() {
		return nil
	}
	st, err := in.closer.Stat()
	if err != nil {
		return fmt.Errorf("read the input's size and time: %w", err)
	}
	if st.Size() < in.size || st.Size() == in.size && !st.ModTime().Equal(in.changed) {
		return errors.New("the input was changed while its rows ran: start again, without the state")
	}
	return nil
}

// copied copies an input that can be read only once. With a state, it uses the earlier copy if the input is now empty or
// the same.
func copied(from io.Reader, path string, old *begin) (*os.File, error) {
	if old != nil {
		if err := sameAgain(from, old); err != nil {
			return nil, &InputError{err}
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, &InputError{fmt.Errorf("the copy of the input that belongs to the state: %w", err)}
		}
		return f, nil
	}
	var f *os.File
	var err error
	if path == "" {
		f, err = unnamed("")
	} else {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("copy the input: %w", err)
	}
	_, err = io.Copy(f, from)
	if err == nil && path != "" {
		err = f.Sync()
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy the input: %w", err), f.Close())
	}
	return f, nil
}

// sameAgain checks that the input is empty, or the one that old describes.
func sameAgain(from io.Reader, old *begin) error {
	if f, ok := from.(*os.File); from == nil || ok && isTerminal(f) {
		return nil
	}
	sum := sha256.New()
	n, err := io.Copy(sum, from)
	if err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); n > 0 && got != old.Sum {
		return fmt.Errorf("the state belongs to another input, of %d bytes with the checksum %.12s: this one has %d with %.12s", old.Size, old.Sum, n, got)
	}
	return nil
}

func isTerminal(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

func (in *input) Close() error { return in.closer.Close() }

// body returns rows as the command gets them, after the header.
func (in *input) body(spans [][2]int) ([]byte, error) {
	type piece struct{ off, n int64 }
	var pieces []piece
	total := int64(len(in.Header))
	for _, s := range spans {
		off, n, err := in.Extent(in.file, s[0], s[1])
		if err != nil {
			return nil, err
		}
		pieces, total = append(pieces, piece{off, n}), total+n
	}
	out := make([]byte, 0, total)
	out = append(out, in.Header...)
	for _, p := range pieces {
		at := len(out)
		out = out[:at+int(p.n)]
		if _, err := in.file.ReadAt(out[at:], p.off); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read the input: %w", err)
		}
	}
	return out, nil
}

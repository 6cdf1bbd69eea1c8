package rows

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
)

// The distance between the places that an Index keeps.
const (
	everyRows  = 256
	everyBytes = 1 << 20
)

type place struct {
	row  int
	off  int64
	line int
}

// Index locates the rows of one file.
type Index struct {
	Rows   int    // number of rows, without a header
	Header []byte // of CSV, with its line end
	Size   int64  // bytes of the file
	Sum    string // SHA-256 of the content

	cfg    Config
	places []place
	end    int64 // offset after the last row
}

// Read reads a file to its end and finds its rows. Its errors name a line.
func Read(in io.Reader, cfg Config) (*Index, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	sum := sha256.New()
	x := &Index{cfg: cfg.withDefaults()}
	s := newScanner(io.TeeReader(in, sum), x.cfg, 0, 1)
	if err := s.skipBOM(); err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	if err := x.header(s); err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	for {
		r, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		if x.skips(r) {
			continue
		}
		if n := len(x.places); n == 0 || x.Rows-x.places[n-1].row >= everyRows || r.off-x.places[n-1].off >= everyBytes {
			x.places = append(x.places, place{x.Rows, r.off, r.line})
		}
		x.Rows++
		x.end = r.off + r.n
	}
	x.Size = s.off
	x.places = slices.Clip(x.places)
	x.Sum = hex.EncodeToString(sum.Sum(nil))
	return x, nil
}

func (x *Index) header(s *scanner) error {
	if x.cfg.Format != CSV {
		return nil
	}
	defer func() { s.keep = nil }()
	for {
		x.Header = nil
		s.keep = func(part []byte) { x.Header = append(x.Header, part...) }
		r, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || !x.skips(r) {
			return err
		}
	}
}

// skips reports whether a line is not a row.
func (x *Index) skips(r record) bool { return r.blank && x.cfg.Format != Lines }

// Row is one row of a file.
type Row struct {
	Text []byte // without its line end
	Line int    // its first line, from 1
}

// Row reads row i, counted from 0.
func (x *Index) Row(file io.ReaderAt, i int) (Row, error) {
	var text []byte
	s, err := x.seek(file, i)
	if err != nil {
		return Row{}, err
	}
	s.keep = func(part []byte) { text = append(text, part...) }
	for {
		r, err := s.next()
		if err != nil {
			return Row{}, fmt.Errorf("read row %d: %w", i+1, err)
		}
		if !x.skips(r) {
			return Row{bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r")), r.line}, nil
		}
		text = text[:0]
	}
}

// Extent returns the position of rows from..to-1 in the file: all bytes from the first byte of the first row to the line
// end of the last.
func (x *Index) Extent(file io.ReaderAt, from, to int) (off, n int64, err error) {
	if from >= to {
		return 0, 0, nil
	}
	s, err := x.seek(file, from)
	if err != nil {
		return 0, 0, err
	}
	for {
		if off = s.off; off >= x.end {
			return 0, 0, fmt.Errorf("read row %d: %w", from+1, io.ErrUnexpectedEOF)
		}
		r, err := s.next()
		if err != nil {
			return 0, 0, fmt.Errorf("read row %d: %w", from+1, err)
		}
		if !x.skips(r) {
			off = r.off
			break
		}
	}
	end, err := x.begin(file, to)
	return off, end - off, err
}

// begin returns the offset of row i, or of the end of what precedes it.
func (x *Index) begin(file io.ReaderAt, i int) (int64, error) {
	if i >= x.Rows {
		return x.end, nil
	}
	s, err := x.seek(file, i)
	if err != nil {
		return 0, err
	}
	return s.off, nil
}

// seek returns a scanner that reads row i next, or blank lines before it.
func (x *Index) seek(file io.ReaderAt, i int) (*scanner, error) {
	if i < 0 || i >= x.Rows {
		return nil, fmt.Errorf("read row %d: there are %d", i+1, x.Rows)
	}
	p := x.places[x.before(i)]
	s := newScanner(io.NewSectionReader(file, p.off, x.Size-p.off), x.cfg, p.off, p.line)
	for row := p.row; row < i; {
		r, err := s.next()
		if err != nil {
			return nil, fmt.Errorf("read row %d: has the file changed? %w", row+1, err)
		}
		if !x.skips(r) {
			row++
		}
	}
	return s, nil
}

// before returns the index of the last place at or before row i.
func (x *Index) before(i int) int {
	n, found := slices.BinarySearchFunc(x.places, i, func(p place, i int) int { return p.row - i })
	if !found {
		n--
	}
	return n
}

// Fit returns the largest end, at most to, for which rows from..end-1 have about most bytes, and at least one row.
func (x *Index) Fit(from, to int, most int64) int {
	at := x.before(from)
	for n := at + 1; n < len(x.places) && x.places[n].row < to; n++ {
		if x.places[n].off-x.places[at].off > most {
			return max(from+1, x.places[n-1].row)
		}
	}
	return max(from+1, to)
}

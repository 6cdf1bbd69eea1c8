package rowfeed

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/sift"
)

// outlet writes the runs' output in the order of the rows. Output that comes too early is kept in the hold file.
type outlet struct {
	state *state
	to    io.Writer
	file  *os.File // the same, if it can be truncated and synced
	end   int64    // its length according to the state
	row   int      // all output of the rows before this one is written

	dead map[int]bool // rows without output
	held map[int]part // held-back output, by first row
	hold *os.File
	size int64 // bytes in hold
}

// part is held-back output.
type part struct {
	to     int // index after its last row
	off, n int64
}

func (c Config) openOutput() (to io.Writer, file *os.File, length int64, err error) {
	if c.OutputPath != "" {
		if file, err = os.OpenFile(c.OutputPath, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
			return nil, nil, 0, fmt.Errorf("open the output: %w", err)
		}
	} else if f, ok := c.Output.(*os.File); ok {
		file = f
	}
	if file == nil {
		return c.Output, nil, 0, nil
	}
	st, err := file.Stat()
	if err != nil {
		return nil, nil, 0, fmt.Errorf("read the output's size: %w", err)
	}
	if !st.Mode().IsRegular() {
		return file, nil, 0, nil
	}
	return file, file, st.Size(), nil
}

// openHold creates the file for held-back output.
func openHold(path string) (*os.File, error) {
	if path == "" {
		return unnamed("")
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the file of held-back output: %w", err)
	}
	return f, nil
}

// resume truncates the output to the length in the state, and writes held-back output that is due.
func (o *outlet) resume(length int64) error {
	if o.file != nil {
		if length < o.end {
			return &InputError{fmt.Errorf("the output has %d bytes, but %d were written to it before: was it truncated? A shell's > does that: append with >>, or name the file with --output", length, o.end)}
		}
		if err := o.file.Truncate(o.end); err != nil {
			return fmt.Errorf("cut the output: %w", err)
		}
		if _, err := o.file.Seek(o.end, io.SeekStart); err != nil {
			return fmt.Errorf("cut the output: %w", err)
		}
	}
	for _, p := range o.held {
		o.size = max(o.size, p.off+p.n)
	}
	if st, err := o.hold.Stat(); err != nil {
		return fmt.Errorf("read the size of the file of held-back output: %w", err)
	} else if st.Size() < o.size {
		return &InputError{fmt.Errorf("%s has %d bytes, and %d of output wait there: was it deleted?", o.hold.Name(), st.Size(), o.size)}
	}
	if err := o.hold.Truncate(o.size); err != nil {
		return fmt.Errorf("cut the file of held-back output: %w", err)
	}
	return o.advance()
}

// finish stores the output of the run of b.
func (o *outlet) finish(b sift.Batch, out io.WriterTo) error {
	done := each.Of(b.Spans(), func(s sift.Span) [2]int { return [2]int{s.From, s.To} })
	o.skip()
	if from := b.Extent().From; from != o.row {
		n, err := out.WriteTo(io.NewOffsetWriter(o.hold, o.size))
		if err == nil {
			err = o.sync(o.hold, n)
		}
		if err != nil {
			return fmt.Errorf("hold back output: %w", err)
		}
		o.held[from] = part{b.Extent().To, o.size, n}
		o.size += n
		return o.state.write(record{Done: done, Held: &[2]int64{o.held[from].off, n}})
	}
	if err := o.put(out); err != nil {
		return err
	}
	o.row = b.Extent().To
	o.skip()
	if err := o.state.write(record{Done: done, Out: &reached{o.row, o.end}}); err != nil {
		return err
	}
	return o.advance()
}

// drop records that a row has no output.
func (o *outlet) drop(row int) error {
	o.dead[row] = true
	return o.advance()
}

func (o *outlet) skip() {
	for o.dead[o.row] {
		delete(o.dead, o.row)
		o.row++
	}
}

// advance writes the held-back output that is due.
func (o *outlet) advance() error {
	moved := false
	for {
		o.skip()
		p, ok := o.held[o.row]
		if !ok {
			break
		}
		if err := o.put(io.NewSectionReader(o.hold, p.off, p.n)); err != nil {
			return err
		}
		delete(o.held, o.row)
		o.row, moved = p.to, true
	}
	if !moved {
		return nil
	}
	if err := o.state.write(record{Out: &reached{o.row, o.end}}); err != nil {
		return err
	}
	if len(o.held) > 0 {
		return nil
	}
	o.size = 0
	if err := o.hold.Truncate(0); err != nil {
		return fmt.Errorf("empty the file of held-back output: %w", err)
	}
	return nil
}

// put appends to the output.
func (o *outlet) put(out any) error {
	var n int64
	var err error
	switch out := out.(type) {
	case io.WriterTo:
		n, err = out.WriteTo(o.to)
	case io.Reader:
		n, err = io.Copy(o.to, out)
	}
	o.end += n
	if err == nil && o.file != nil {
		err = o.sync(o.file, n)
	}
	if err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// sync makes n new bytes of f durable, if there is a state that refers to them.
func (o *outlet) sync(f *os.File, n int64) error {
	if o.state.f == nil || n == 0 {
		return nil
	}
	return f.Sync()
}

// whole returns an error if some output is still held back.
func (o *outlet) whole(rows int) error {
	if o.skip(); o.row != rows || len(o.held) > 0 {
		return errors.New("rows are missing in the output: this is a bug in Bezoar")
	}
	return nil
}

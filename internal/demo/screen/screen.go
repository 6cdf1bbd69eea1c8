package screen

import (
	"fmt"
	"io"
	"strings"
)

// A Screen draws frames over one another. It is not safe for concurrent use.
type Screen struct {
	out    io.Writer
	width  func() int
	colour bool
	lines  int // drawn by the last frame
}

// New returns a screen on out, a terminal whose width may change.
func New(out io.Writer, width func() int, colour bool) *Screen {
	return &Screen{out: out, width: width, colour: colour}
}

// Draw replaces the last frame by f.
func (s *Screen) Draw(f Frame) error {
	var b strings.Builder
	if s.lines == 0 {
		b.WriteString("\x1b[?25l") // no cursor
	} else {
		fmt.Fprintf(&b, "\x1b[%dA\r", s.lines)
	}
	lines := f.Render(s.width()-1, s.colour)
	for _, line := range lines {
		b.WriteString(line)
		b.WriteString("\x1b[K\n")
	}
	b.WriteString("\x1b[J") // what a taller frame left
	s.lines = len(lines)
	_, err := io.WriteString(s.out, b.String())
	return err
}

// Leave lets the last frame stand and begins a new one below it.
func (s *Screen) Leave() error {
	if s.lines == 0 {
		return nil
	}
	s.lines = 0
	_, err := io.WriteString(s.out, "\x1b[?25h\n")
	return err
}

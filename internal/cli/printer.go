package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// printer writes text for people to stdout.
type printer struct {
	w     io.Writer
	width func() int // nil when w is no terminal
	color bool
	err   error // the first error of a write
}

func newPrinter(w io.Writer, getenv func(string) string) *printer {
	width := widthOf(w, getenv)
	return &printer{w: w, width: width, color: width != nil && getenv("NO_COLOR") == ""}
}

// widthOf returns what asks the terminal w for its width; nil if w is no terminal on which lines can be drawn.
func widthOf(w io.Writer, getenv func(string) string) (width func() int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || getenv("TERM") == "dumb" {
		return nil
	}
	return func() int {
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
			return cols
		}
		return 80
	}
}

// columns is the width for text: that of the terminal, within readable bounds.
func (p *printer) columns() int {
	if p.width == nil {
		return 100
	}
	return max(40, min(p.width(), 120))
}

func (p *printer) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format, args...); err != nil && p.err == nil {
		p.err = err
	}
}

// lost returns the error if output was lost. A reader that closed the pipe is no error.
func (p *printer) lost() error {
	if p.err == nil || errors.Is(p.err, syscall.EPIPE) || errors.Is(p.err, io.ErrClosedPipe) {
		return nil
	}
	return p.err
}

// json writes the command's one document.
func (p *printer) json(v any) error {
	e := json.NewEncoder(p.w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// The styles, as SGR parameters.
const (
	bold    = "1"
	dim     = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
	loud    = "1;97;41" // bold white on red
)

func (p *printer) paint(style, text string) string {
	if !p.color || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// clean makes hostile text safe for a terminal: one line, no control characters, no characters that change the direction of
// writing.
func clean(s string) string {
	if !strings.ContainsFunc(s, unsafeRune) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unsafeRune(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unsafeRune(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// cut shortens s to n columns.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:max(0, n-1)]) + "…"
}

// wrap breaks text into lines of at most n columns, at blanks where it can.
func wrap(text string, n int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		for utf8.RuneCountInString(word) > n {
			if line != "" {
				lines = append(lines, line)
				line = ""
			}
			r := []rune(word)
			lines = append(lines, string(r[:n]))
			word = string(r[n:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > n:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

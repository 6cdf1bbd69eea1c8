package crash

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrSilent means that the output does not contain a single word.
var ErrSilent = errors.New("the output says nothing")

// Parser reads outputs. Create it with New. It keeps no state between calls and is safe
// for concurrent use.
type Parser struct {
	c     Config
	table []language
}

// New returns a Parser for c.
func New(c Config) (*Parser, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Parser{c: c, table: languages()}, nil
}

// Parse reads the output of a program with the default Config: see
// [Parser.Parse].
func Parse(r io.Reader) (Report, error) {
	p := Parser{table: languages()}
	return p.Parse(r)
}

// ParseBytes is Parse for an output in memory.
func ParseBytes(b []byte) (Report, error) {
	p := Parser{table: languages()}
	return p.ParseBytes(b)
}

// Parse reads the output of a program to its end and reports what failed. It returns
// ErrSilent, or the error of r. Its memory is bounded, even for a long output.
func (p *Parser) Parse(r io.Reader) (Report, error) {
	var k keeper
	if err := k.keep(r); err != nil {
		return Report{}, err
	}
	return p.report(k.pieces())
}

// ParseBytes is Parse for an output in memory.
func (p *Parser) ParseBytes(b []byte) (Report, error) {
	return p.report(piecesOf(b))
}

// piecesOf keeps of b what would be kept of a stream.
func piecesOf(b []byte) [][]byte {
	if len(b) <= tailBytes {
		return [][]byte{b}
	}
	var k keeper
	for len(b) > 0 {
		n := min(len(b), chunkBytes)
		k.add(b[:n])
		b = b[n:]
	}
	return k.pieces()
}

// report reads the pieces of one output.
func (p *Parser) report(pieces [][]byte) (Report, error) {
	c, why, err := p.read(pieces)
	if err != nil {
		return Report{Why: why}, err
	}
	return c.report(why), nil
}

// read finds what the pieces come down to.
func (p *Parser) read(pieces [][]byte) (choice, []string, error) {
	w := walk{table: p.table}
	if len(pieces) > 1 || len(pieces[0]) >= gateFrom {
		w.gate = newGate(p.table)
	}
	var last *text
	var why []string
	for i, b := range pieces {
		t := clean(b)
		if i < len(pieces)-1 {
			why = append(why, fmt.Sprintf("kept %d bytes behind an early beginning", len(b)))
		}
		why = append(why, t.notes...)
		w.over(t.lines)
		last = t
	}
	if lang := kernel(); w.best == nil || !w.best.fatal || w.best.bare() {
		if t, line, ok := w.read(&lang, last.lines, 0); ok {
			w.best = &found{trace: t, lang: &lang, line: line}
		}
	}
	if w.best == nil || w.best.bare() {
		lang := generic()
		if t, line, ok := w.read(&lang, last.lines, 0); ok && (w.best == nil || line < w.best.line) {
			w.best = &found{trace: t, lang: &lang, line: line}
		}
	}
	why = append(why, w.why...)
	if w.best == nil {
		return p.fallback(last, why)
	}
	if w.seen > 1 {
		why = append(why, fmt.Sprintf("chose the one at line %d: the last of %d fatal ones, of %d in all", w.best.line, w.fatal, w.seen))
	}
	c := p.choose(w.best, &why)
	return c, why, nil
}

// bare reports what says less than any words before it: a signal, a stack
// without a header, a type without a message and a place.
func (f *found) bare() bool {
	e := f.chain[len(f.chain)-1]
	return f.lang.name == "native" && (e.typ == "stack" || !f.placed()) || e.message == "" && !f.placed()
}

// fallback reads an output without a trace.
func (p *Parser) fallback(t *text, why []string) (choice, []string, error) {
	message, line, ok := t.lastWords()
	if !ok {
		return choice{}, why, ErrSilent
	}
	message = unthreaded(message)
	why = append(why, fmt.Sprintf("no trace: took the words of line %d", line))
	c := choice{typ: genericType(firstLine(message)), message: message, quality: Message, rests: Message, telling: tells(message)}
	if s := signalled(message); s != "" {
		c.typ, c.kind, c.telling = s, s, true
	}
	return c, why, nil
}

// report turns a choice into what callers see.
func (c *choice) report(why []string) Report {
	reason := fold(c.message)
	if c.lang == nil && c.rests == Message && !wordy(reason) { // says nothing that holds two incidents together
		c.quality, c.rests = Exit, Exit
		c.cause = c.message
	}
	r := Report{
		Class: classify(c), Type: c.typ, Frame: c.frame, Reason: reason, Quality: c.quality,
		Message: firstLine(c.message), Language: "text", Code: c.code, Why: why,
	}
	if c.lang != nil {
		r.Language = c.lang.name
	}
	r.Fingerprint, r.Group = c.hashes(reason)
	r.Why = append(r.Why, "quality "+string(r.Quality)+", class "+r.Class.String())
	return r
}

// firstLine is a message for people.
func firstLine(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return strings.ToValidUTF8(line[:min(len(line), MaxReason)], "")
}

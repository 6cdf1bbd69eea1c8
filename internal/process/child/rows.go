package child

import (
	"bytes"
	"encoding/json"
	"io"
)

// MaxRowLine is the most bytes of a line that names a bad row.
const MaxRowLine = 1 << 20

// rowWire is the JSON form of a Row.
type rowWire struct {
	Row    *int            `json:"row"`   // in a line of its own
	Index  *int            `json:"index"` // in a report
	Reason string          `json:"reason"`
	Body   json.RawMessage `json:"body"` // a string is the text itself
}

func (w *rowWire) row(index int) Row {
	r := Row{Index: index, Reason: w.Reason}
	if text := ""; json.Unmarshal(w.Body, &text) == nil {
		r.Body = text
	} else if len(w.Body) > 0 {
		r.Body = string(w.Body)
	}
	return r
}

// told returns the writer for the job's output on descriptor 3.
func (p *Process) told(j *Job) io.Writer {
	if j.Row == nil {
		return &p.said
	}
	p.rows = &rowLines{told: j.Row, rest: &p.said}
	return p.rows
}

// rowLines separates the lines that name bad rows from a stream. The rest is the report. A line that is too long for a row
// is part of the report, which is then refused.
type rowLines struct {
	told func(Row)
	rest io.Writer
	line []byte
}

func (l *rowLines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, more, whole := bytes.Cut(rest, []byte("\n"))
		l.line, rest = append(l.line, line...), more
		if whole {
			l.line = append(l.line, '\n')
		}
		if whole || len(l.line) > MaxRowLine {
			l.end()
		}
	}
	return len(p), nil
}

// end handles a complete line, or the last one without a line end.
func (l *rowLines) end() {
	line := l.line
	l.line = l.line[:0]
	if b := bytes.TrimSpace(line); len(b) > 0 && b[0] == '{' && len(b) <= MaxRowLine {
		var w rowWire
		if json.Unmarshal(b, &w) == nil && w.Row != nil && *w.Row >= 0 {
			l.told(w.row(*w.Row))
			return
		}
	}
	_, _ = l.rest.Write(line)
}

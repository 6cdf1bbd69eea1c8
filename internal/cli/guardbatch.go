package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/bezoar-dev/bezoar/guard"
)

// batchLine is what one line of a batch is answered with.
type batchLine struct {
	ID       json.RawMessage `json:"id"`
	Verdict  guard.Outcome   `json:"verdict,omitempty"`
	Regex    string          `json:"regex,omitempty"`
	Findings []guard.Finding `json:"findings"`
	More     int             `json:"more,omitempty"`
	Caps     []string        `json:"caps,omitempty"`
	Body     string          `json:"body,omitempty"` // as caps leave it
	Cost     float64         `json:"cost"`
	Error    string          `json:"error,omitempty"`
}

// openInput opens a file that is read line by line; - is standard input.
func openInput(s *session, file string) (io.Reader, func(), error) {
	if file == "-" {
		return readerUntil{s, s.Stdin}, func() {}, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, asNotFound(err)
	}
	return readerUntil{s, f}, func() { _ = f.Close() }, nil
}

// batch answers each line of the file with one.
func (c *guardCheckCmd) batch(s *session, g *guard.Guard) error {
	in, done, err := openInput(s, c.Batch)
	if err != nil {
		return err
	}
	defer done()
	out := bufio.NewWriter(s.Stdout)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	var v guard.Verdict
	bad, n := 0, 0
	err = guard.Lines(in, func(_ int, line []byte, err error) error {
		n++
		answer := c.answer(g, line, err, &v)
		if answer.Error != "" {
			bad++
		}
		if err := e.Encode(answer); err != nil {
			return err
		}
		return out.Flush() // whoever feeds lines one by one waits for this one
	})
	switch {
	case err != nil:
		return fmt.Errorf("judge %s: %w", clean(c.Batch), err)
	case bad > 0:
		s.say("bezoar: %d of %d lines could not be read", bad, n)
	}
	return nil
}

// answer judges one line.
func (c *guardCheckCmd) answer(g *guard.Guard, line []byte, err error, v *guard.Verdict) batchLine {
	out := batchLine{ID: json.RawMessage("null"), Findings: []guard.Finding{}}
	var r guard.Record
	if err == nil {
		r, err = guard.ParseRecord(line)
	}
	if r.ID != nil {
		out.ID = r.ID
	}
	if err != nil {
		out.Error = err.Error()
		return out
	}
	q := r.Query
	q.Class = first(c.Class, q.Class)
	if q.Class == "" {
		q.Class = g.Classify(r.Caller)
	}
	q.Dialect = first(q.Dialect, c.Dialect)
	g.Check(&q, v)
	out.Verdict, out.Regex, out.More, out.Caps, out.Cost = v.Verdict, v.Regex, v.More, v.Caps, v.Cost
	out.Findings = append(out.Findings, v.Findings...)
	if v.Body != nil {
		out.Body = string(v.Body)
	}
	return out
}

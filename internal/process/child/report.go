package child

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// The limits of a report. A longer report is refused and not truncated: a truncated list of rows would name too few.
const (
	MaxReport     = 64 << 10           // bytes of the line without its end
	MaxReportText = 8 << 10            // bytes of each text
	MaxRetryAfter = 7 * 24 * time.Hour // longer waits are reduced to it
)

// Report is a child's report about its job: one line of JSON on descriptor 3. Every field may be missing; unknown fields
// are ignored.
type Report struct {
	Class      string // name of a [bezoar.Class]; "": the exit code decides
	Reason     string
	Failure    string // what failed, in the same words each time
	RetryAfter time.Duration
	Downstream string // the service whose failure caused this one
	Rows       []Row  // the lines of the body that failed
}

// Row is one bad line of the body.
type Row struct {
	Index  int    `json:"index"` // from 0
	Reason string `json:"reason,omitempty"`
	Body   string `json:"body,omitempty"` // of a row that the child got elsewhere
}

// reportWire is the JSON form of a Report.
type reportWire struct {
	Class      string          `json:"class,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Failure    string          `json:"failure,omitempty"`
	RetryAfter json.RawMessage `json:"retry_after,omitempty"`
	Downstream string          `json:"downstream,omitempty"`
	Rows       []Row           `json:"rows,omitempty"`
}

func ParseReport(line []byte) (*Report, error) {
	line = bytes.TrimSpace(line)
	if len(line) > MaxReport {
		return nil, fmt.Errorf("report: longer than %d bytes", MaxReport)
	}
	if !utf8.Valid(line) {
		return nil, errors.New("report: not UTF-8")
	}
	if first, rest, more := bytes.Cut(line, []byte("\n")); more && json.Valid(first) {
		return nil, fmt.Errorf("report: %d bytes after the first line, want one line", len(rest))
	}
	r := new(Report)
	if err := r.UnmarshalJSON(line); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return r, nil
}

// UnmarshalJSON decodes and validates.
func (r *Report) UnmarshalJSON(b []byte) error {
	var w reportWire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	out := Report{Class: w.Class, Reason: w.Reason, Failure: w.Failure, Downstream: w.Downstream, Rows: w.Rows}
	var errs faults.List
	errs = append(errs, claimable(w.Class))
	var err error
	if out.RetryAfter, err = parseDelay(w.RetryAfter); err != nil {
		errs = append(errs, err)
	}
	for _, f := range []struct{ name, text string }{{"reason", w.Reason}, {"failure", w.Failure}, {"downstream", w.Downstream}} {
		errs.If(len(f.text) > MaxReportText, "%s has %d bytes, want at most %d", f.name, len(f.text), MaxReportText)
	}
	for i, row := range w.Rows {
		if row.Index < 0 {
			errs = append(errs, fmt.Errorf("rows[%d].index is %d, want 0 or more", i, row.Index))
			break // one error of this kind is enough
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	*r = out
	return nil
}

// MarshalJSON encodes a report so that UnmarshalJSON can decode it.
func (r Report) MarshalJSON() ([]byte, error) {
	w := reportWire{Class: r.Class, Reason: r.Reason, Failure: r.Failure, Downstream: r.Downstream, Rows: r.Rows}
	if r.RetryAfter > 0 {
		w.RetryAfter = json.RawMessage(`"` + r.RetryAfter.String() + `"`)
	}
	return json.Marshal(w)
}

// claimable returns an error for classes that a child may not report. Only Bezoar decides whether a job was interrupted or
// never started: neither blames the message.
func claimable(name string) error {
	if name == "" {
		return nil
	}
	var c bezoar.Class
	if err := c.UnmarshalText([]byte(name)); err != nil {
		return err
	}
	if c == bezoar.Interrupted || c == bezoar.SpawnFailed {
		return fmt.Errorf("a child may not report class %q", name)
	}
	return nil
}

// parseDelay parses seconds (30, 1.5, "30", as in Retry-After) or a duration ("1m30s").
func parseDelay(raw json.RawMessage) (time.Duration, error) {
	text := strings.TrimSpace(string(raw))
	if text == "" || text == "null" {
		return 0, nil
	}
	if text[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return 0, fmt.Errorf("retry_after: %w", err)
		}
		if d, err := time.ParseDuration(text); err == nil {
			return checkDelay(d.Seconds(), text)
		}
	}
	var seconds float64
	if err := json.Unmarshal([]byte(text), &seconds); err != nil {
		return 0, fmt.Errorf("retry_after is %.40q, want seconds or a duration such as \"30s\"", text)
	}
	return checkDelay(seconds, text)
}

func checkDelay(seconds float64, text string) (time.Duration, error) {
	if !(seconds >= 0) || math.IsInf(seconds, 0) {
		return 0, fmt.Errorf("retry_after is %.40q, want 0 or more", text)
	}
	return time.Duration(min(seconds, MaxRetryAfter.Seconds()) * float64(time.Second)), nil
}

// UnmarshalJSON decodes an object or a bare number.
func (r *Row) UnmarshalJSON(b []byte) error {
	var index int
	if err := json.Unmarshal(b, &index); err == nil {
		*r = Row{Index: index}
		return nil
	}
	var w rowWire
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("row: %w", err)
	}
	if w.Index == nil {
		return errors.New(`row: want a number or {"index": n}`)
	}
	*r = w.row(*w.Index)
	return nil
}

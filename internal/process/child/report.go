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

// The bounds of a report. What is longer is refused, not cut: a cut list of rows
// would blame too few.
const (
	MaxReport     = 64 << 10           // bytes of the line, its end not counted
	MaxReportText = 8 << 10            // bytes of each text
	MaxRetryAfter = 7 * 24 * time.Hour // longer waits are cut to it
)

// Report is what a child may say about its job on descriptor 3, as one line of
// JSON. Every field may be missing; unknown fields are ignored.
type Report struct {
	Class      string // one of [bezoar.Class]'s names; "" means that the exit code decides
	Reason     string
	Failure    string // what failed, in words that are the same each time
	RetryAfter time.Duration
	Downstream string // which service failed it
	Rows       []Row  // which lines of the body failed
}

// Row is one bad line of the body.
type Row struct {
	Index  int    `json:"index"` // from 0
	Reason string `json:"reason,omitempty"`
	Body   string `json:"body,omitempty"` // of a row that the child got elsewhere
}

// reportWire is a Report as JSON has it.
type reportWire struct {
	Class      string          `json:"class,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Failure    string          `json:"failure,omitempty"`
	RetryAfter json.RawMessage `json:"retry_after,omitempty"`
	Downstream string          `json:"downstream,omitempty"`
	Rows       []Row           `json:"rows,omitempty"`
}

// ParseReport reads one line.
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
			break // the others are of the same kind
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	*r = out
	return nil
}

// MarshalJSON encodes what UnmarshalJSON takes.
func (r Report) MarshalJSON() ([]byte, error) {
	w := reportWire{Class: r.Class, Reason: r.Reason, Failure: r.Failure, Downstream: r.Downstream, Rows: r.Rows}
	if r.RetryAfter > 0 {
		w.RetryAfter = json.RawMessage(`"` + r.RetryAfter.String() + `"`)
	}
	return json.Marshal(w)
}

// claimable reports which classes a child may give itself. That it was
// interrupted or never started is for us to say: both are free of blame.
func claimable(name string) error {
	if name == "" {
		return nil
	}
	var c bezoar.Class
	if err := c.UnmarshalText([]byte(name)); err != nil {
		return err
	}
	if c == bezoar.Interrupted || c == bezoar.SpawnFailed {
		return fmt.Errorf("class %q is not for a child to claim", name)
	}
	return nil
}

// parseDelay reads seconds (30, 1.5, "30", as in Retry-After) or a duration
// ("1m30s").
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

// UnmarshalJSON takes an object or a bare number.
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

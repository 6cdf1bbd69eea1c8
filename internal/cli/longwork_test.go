package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Elsewhere than on a terminal there is a plain line now and then, with the rate and
// what is left; short work says nothing.
func TestProgressInPlainLines(t *testing.T) {
	var errs bytes.Buffer
	now := noon()
	s := &session{Process: Process{Stderr: &errs, Getenv: func(string) string { return "" }}, now: func() time.Time { return now }}
	p := newLongWork(s)
	for _, at := range []struct {
		after time.Duration
		done  int64
	}{{0, 1000}, {9 * time.Second, 1900}, {time.Second, 2000}, {time.Second, 2100}, {9 * time.Second, 3000}} {
		now = now.Add(at.after)
		p.tell(at.done, 6000, func() string { return grouped(int(at.done)) + " rows" })
	}
	p.clear()
	if want := "2,000 rows; 100/s, about 40s left\n3,000 rows; 100/s, about 30s left\n"; errs.String() != want {
		t.Errorf("it says %q, want %q", errs.String(), want)
	}
	errs.Reset()
	s.json = true
	now = now.Add(time.Hour)
	p.tell(4000, 6000, func() string { return "" })
	if strings.TrimSpace(errs.String()) != "" {
		t.Errorf("with --json it says %q", errs.String())
	}
}

// Slow work is counted by the minute or the hour: 0 a second tells nobody anything.
func TestPaceOfSlowWork(t *testing.T) {
	now := noon()
	s := &session{Process: Process{Stderr: &bytes.Buffer{}, Getenv: func(string) string { return "" }}, now: func() time.Time { return now }}
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{2 * time.Second, "; 2/s, about 3s left"},
		{40 * time.Second, "; 6/min, about 60s left"},
		{4 * time.Hour, "; 1/h, about 6h left"},
	} {
		if got := newLongWork(s).pace(now.Add(c.after), 4, 10); got != c.want {
			t.Errorf("4 of 10 after %v: %q, want %q", c.after, got, c.want)
		}
	}
}

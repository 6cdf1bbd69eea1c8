package judge

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// asking is a log that has every judge of the machine asked for leave, and waits
// for the answers.
type asking struct {
	*table
	judges []*Local
	said   []string
}

func (a *asking) Enabled(context.Context, slog.Level) bool { return true }
func (a *asking) WithAttrs([]slog.Attr) slog.Handler       { return a }
func (a *asking) WithGroup(string) slog.Handler            { return a }

func (a *asking) Handle(_ context.Context, r slog.Record) error {
	a.said = append(a.said, r.Message)
	for _, j := range a.judges {
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			j.Waste(a.now, &Trial{})
		}()
		select {
		case <-answered:
		case <-time.After(10 * time.Second):
			a.Errorf("a lock is held while %q is logged", r.Message)
		}
	}
	return nil
}

// A log that blocks holds up no other worker, and nobody else in this one.
func TestNothingIsLoggedUnderALock(t *testing.T) {
	tb := newTable(t)
	log := &asking{table: tb}
	a, b := tb.judge(LocalConfig{Downstream: "db", Log: slog.New(log)}), tb.judge(LocalConfig{Downstream: "db"})
	log.judges = []*Local{a, b}
	for n := range 5 {
		tb.fail(a, Ending{Payload: body(n), Class: bezoar.Bug, Failure: "refused", Votes: 2})
	}
	for n := range 10 {
		tb.fail(a, Ending{Payload: body(n), Class: bezoar.Transient, Failure: body(n).String()})
	}
	if len(log.said) != 2 {
		t.Errorf("logged %q, want a pause and a breaker", log.said)
	}
}

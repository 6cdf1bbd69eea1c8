package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// The demonstration keeps its promise on a small fleet: without a defence a
// crashing pill takes the fleet down, with it the pill costs two workers and no
// good request anything.
func TestRunCrash(t *testing.T) {
	var out, progress bytes.Buffer
	var r Report
	// A busy machine takes longer to convict, and to start what the pill kills.
	for length := 6 * time.Second; (r.With.ContainedMS == nil || r.Without.WorkersLost <= 4) && length < 2*time.Minute; length *= 4 {
		out.Reset()
		progress.Reset()
		var err error
		if r, err = Run(t.Context(), Config{
			Command: command(t), Length: length, Workers: 4, Rate: 20, JSON: true,
			Out: &out, Err: &progress, boot: 300 * time.Millisecond, slowest: 20 * time.Second,
		}); err != nil {
			t.Fatalf("Run = %v\n%s", err, progress.String())
		}
	}
	var printed Report
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
		t.Fatalf("the document: %v\n%s", err, out.String())
	}
	if printed.With.GoodSent != r.With.GoodSent || printed.Without.WorkersLost != r.Without.WorkersLost {
		t.Errorf("printed %+v, returned %+v", printed, r)
	}
	with, without := r.With, r.Without
	if with.WorkersLost < 1 || with.WorkersLost > 2 {
		t.Errorf("with the defence %d workers were lost, want 1 or 2", with.WorkersLost)
	}
	if with.GoodOK != with.GoodSent || with.InnocentsRefused != 0 || with.GoodSent < 40 {
		t.Errorf("with the defence %d of %d good requests were answered and %d refused", with.GoodOK, with.GoodSent, with.InnocentsRefused)
	}
	if with.ContainedMS == nil || with.P50MS <= 0 {
		t.Errorf("with the defence contained_ms is %v and p50 %v", value(with.ContainedMS), with.P50MS)
	}
	if without.WorkersLost <= 4 || without.GoodOK == without.GoodSent {
		t.Errorf("without a defence %d workers were lost and %d of %d good requests answered: there is nothing to show",
			without.WorkersLost, without.GoodOK, without.GoodSent)
	}
	for _, half := range []string{"without a defence:", "with Bezoar:"} {
		if !strings.Contains(progress.String(), half) {
			t.Errorf("progress lacks %q:\n%s", half, progress.String())
		}
	}
	alone(t)
}

// Whoever loses patience gets the prompt back at once, and no process is left.
func TestRunIsInterrupted(t *testing.T) {
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Config{Command: command(t), Length: time.Minute, Workers: 2, Out: &out})
		done <- err
	}()
	soon(t, "both workers run", func() bool { return len(children(t)) == 2 })
	cancel(stop)
	select {
	case err := <-done:
		if !errors.Is(err, stop) {
			t.Errorf("Run = %v, want the cause", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Run did not return")
	}
	alone(t)
}

// A worker that cannot be started is said so, soon.
func TestRunWithoutWorkers(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("time is up"))
	defer cancel()
	if _, err := Run(ctx, Config{Command: []string{"/nonexistent"}, Workers: 2}); err == nil {
		t.Error("Run = nil although no worker could start")
	}
}

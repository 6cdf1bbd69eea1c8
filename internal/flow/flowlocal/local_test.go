package flowlocal

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/task"
)

const patience = time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// live runs a state directory until stop is called.
func live(t *testing.T, dir string) (l *Local, stop func()) {
	t.Helper()
	l, err := Open(t.Context(), Config{Dir: dir, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})), Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return l, func() {
		t.Helper()
		cancel()
		if err := errors.Join(<-done, l.Close()); err != nil {
			t.Error(err)
		}
	}
}

// await waits until a run stands as wanted.
func await(t *testing.T, f flowapi.Flows, id string, want func(*flowapi.Run) bool) flowapi.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := f.Run(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if want(&r) {
			return r
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the run is %+v", r)
		case <-tick.C:
		}
	}
}

// picky fails for one item as long as a parameter says so.
func picky(dir string) flow.Definition {
	return flow.Definition{Name: "picky", Dir: dir, Params: []flow.Param{{Name: "bad", Default: "b"}}, Tasks: []flow.Task{
		{
			Name: "load", Each: &flow.Each{List: []string{"a", "b", "c"}}, Command: []string{"sh", "-c", "echo load {{ .item }}; test {{ .item }} != {{ .params.bad }}"},
			Retry: flow.Retry{Attempts: 2, Backoff: backoff.Config{Base: time.Millisecond, Cap: 2 * time.Millisecond}},
		},
		{Name: "report", Needs: []string{"load"}, Command: []string{"true"}},
	}}
}

// A run that waits for a person is shown, reached by a socket, and goes on after
// an order in the next life.
func TestLives(t *testing.T) {
	// A path that is too long for a socket's name.
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	l, stop := live(t, dir)
	r, err := l.Engine().Start(t.Context(), flow.StartRequest{Definition: picky(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	await(t, l.Flows(), r.ID, func(r *flowapi.Run) bool { return r.State == flow.RunHeld })
	if _, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second owner: %v", err)
	}
	client, err := Dial(t.Context(), dir, "ops@example")
	if err != nil || client == nil {
		t.Fatalf("nobody answers on the socket: %v", err)
	}
	seen, err := client.Run(t.Context(), r.ID)
	if err != nil || seen.State != flow.RunHeld || seen.Counts[task.DeadLetter] != 1 {
		t.Errorf("over the socket: %+v, %v", seen, err)
	}
	one := 1
	all, err := client.Attempts(t.Context(), r.ID, flowapi.AttemptQuery{Task: "load", Index: &one})
	if err != nil || len(all) != 2 {
		t.Fatalf("the attempts are %+v, %v", all, err)
	}
	log, err := client.Logs(t.Context(), r.ID, all[0].Token, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(log)
	_ = log.Close()
	if err != nil || string(text) != "load b\n" {
		t.Errorf("the log is %q, %v", text, err)
	}
	client.Close()
	stop()
	if client, err := Dial(t.Context(), dir, ""); client != nil || err != nil {
		t.Errorf("somebody answers after the end: %v, %v", client, err)
	}

	l, stop = live(t, dir)
	defer stop()
	if _, err := l.Flows().Order(t.Context(), r.ID, flowapi.Order{Verb: flow.VerbRetry, Set: map[string]string{"bad": "none"}, Who: "ops"}); err != nil {
		t.Fatal(err)
	}
	await(t, l.Flows(), r.ID, func(r *flowapi.Run) bool { return r.State == flow.RunSuccess })
	if settled, err := l.Settled(t.Context(), r.ID); !settled || err != nil {
		t.Errorf("settled: %v, %v", settled, err)
	}
}

package taskrun

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
)

// envLease makes such an owner promise its lease to a guardian.
const envLease = "TASKRUN_TEST_LEASE"

// envRole makes the test binary an owner that is killed; see TestKilled.
const envRole = "TASKRUN_TEST_ROLE"

func TestMain(m *testing.M) {
	if guardian.Run() {
		return
	}
	if dir := os.Getenv(envRole); dir != "" {
		owner(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// owner starts what it reads from stdin, says so, and lives until it is killed.
func owner(dir string) {
	r, err := Open(context.Background(), Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = r.Run(context.Background()) }()
	if lease, err := time.ParseDuration(os.Getenv(envLease)); err == nil {
		w, err := guardian.StartWatch(slog.New(slog.DiscardHandler), r.Jobs())
		if err != nil {
			fmt.Println(err)
			return
		}
		go func() {
			for now := time.Now(); ; now = <-time.After(lease / 10) {
				if err := w.Beat(now.Add(lease)); err != nil {
					fmt.Println(err)
				}
			}
		}()
	}
	in := json.NewDecoder(os.Stdin)
	for {
		var s flow.Spec
		if in.Decode(&s) != nil {
			return
		}
		if err := r.Start(context.Background(), s); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("started", s.Token)
	}
}

// runner is one that runs until the test ends.
func runner(t *testing.T, edit func(*Config)) *Runner {
	t.Helper()
	c := Config{Dir: t.TempDir(), Environ: append(slices.Clone(os.Environ()), "GORACE=atexit_sleep_ms=0")}
	if edit != nil {
		edit(&c)
	}
	r, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// run starts an attempt and waits for its end.
func run(t *testing.T, r *Runner, s flow.Spec) flow.Ending {
	t.Helper()
	if err := r.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return wait(t, r, s.Token)
}

func wait(t *testing.T, r *Runner, token int64) flow.Ending {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, err := r.Wait(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func logOf(t *testing.T, r *Runner, token int64) string {
	t.Helper()
	in, err := r.Logs(t.Context(), token, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func shell(token int64, script string) flow.Spec {
	return flow.Spec{Token: token, Run: "r1", Flow: "daily", Task: "load", N: 1, Command: []string{"sh", "-c", script}}
}

func knownOf(secrets []string) *redact.Values { return redact.Known(secrets...) }

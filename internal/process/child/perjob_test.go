package child

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Each job may bring its own command, folder, grace and memory; what it does not
// bring is the runner's.
func TestJobsOfTheirOwn(t *testing.T) {
	r := run(t, func(c *Config) { c.Command, c.PerJob, c.Grace = nil, true, time.Minute })
	dir := t.TempDir()
	if res := r.Do(t.Context(), Job{Command: []string{"pwd"}, Dir: dir}); strings.TrimSpace(string(res.Stdout)) != dir {
		t.Errorf("it ran in %q, want %q: %+v", res.Stdout, dir, res)
	}
	if res := r.Do(t.Context(), Job{}); res.Class != bezoar.SpawnFailed || !strings.Contains(res.Detail, "command is empty") {
		t.Errorf("a job without any command: %+v", res)
	}
	if res := r.Do(t.Context(), Job{Command: []string{"true"}, Memory: 1}); res.Class != bezoar.SpawnFailed {
		t.Errorf("a job with too little memory: %+v", res)
	}
	glutton := Job{Command: []string{os.Args[0]}, Env: []string{envRole + "=glutton", quick}, Memory: 64 << 20}
	if res := r.Do(t.Context(), glutton); res.Class != bezoar.OOM || !strings.Contains(res.Detail, "limit 64 MiB") {
		t.Errorf("a job that takes too much: %+v", res)
	}
	if res := r.Do(t.Context(), Job{Command: []string{"true"}}); res.Class != bezoar.Done {
		t.Errorf("the next one, without a limit: %+v", res)
	}
	stubborn := Job{Command: []string{os.Args[0]}, Env: []string{envRole + "=stubborn", quick}, Grace: 50 * time.Millisecond}
	if res, limit := overdue(t, r, stubborn); res.Class != bezoar.Timeout || res.Signal != "SIGKILL" || res.Elapsed > limit+30*time.Second {
		t.Errorf("a job with a short grace: %+v", res)
	}
}

// The cause of a context's end says how the end is called.
func TestTheCauseOfAStop(t *testing.T) {
	r := run(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	res := r.Do(ctx, Job{Command: []string{"sleep", "1000"}, Started: func(int) {
		cancel(&Stop{Class: bezoar.Timeout, Why: "the run's deadline is over"})
	}})
	if res.Class != bezoar.Timeout || !strings.HasPrefix(res.Detail, "the run's deadline is over") {
		t.Errorf("result %+v", res)
	}
}

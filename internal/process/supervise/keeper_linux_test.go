package supervise

import (
	"os/exec"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// A worker's connections break when it begins to die. On a busy machine more than the
// patience with its exit may pass until that is known: it has died all the same, and what
// it had in flight is not taken for a broken connection of a worker that lives.
func TestADyingWorkerIsWaitedFor(t *testing.T) {
	for _, tc := range []struct {
		name    string
		command []string
		dying   bool
	}{{"it has ended, and nobody has been told", []string{"true"}, true}, {"it lives", []string{"sleep", "600"}, false}} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := exec.Command(tc.command[0], tc.command[1:]...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			for late := time.Now().Add(time.Minute); proc.Dying(cmd.Process.Pid) != tc.dying; {
				if time.Now().After(late) {
					t.Fatal("it does not end")
				}
			}
			l := &life{pid: cmd.Process.Pid, exited: make(chan struct{}), gone: make(chan struct{})}
			close(l.gone) // its end is reported as soon as anybody waits for that
			if got := l.endsWithin(t.Context(), time.Millisecond); got != tc.dying {
				t.Errorf("it ends: %v, want %v", got, tc.dying)
			}
		})
	}
}

package alarm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	commandFor  = 10 * time.Second
	commandTail = 1024 // bytes of stderr that are kept
)

// command runs the rule's command with the event on stdin.
func (a *Alarms) command(ctx context.Context, r Rule, e Event, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, commandFor)
	defer cancel()
	stderr := &tail{}
	cmd := exec.Command(r.Command[0], r.Command[1:]...) // run ends the whole group, not the leader alone
	cmd.Env = append(inherited(a.config.Environ, a.config.Secrets), "BEZOAR_ALARM="+r.Name, "BEZOAR_ALARM_STATUS="+e.Status)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(body), stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // for pipes that something outside the group holds
	err := run(ctx, cmd)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("killed after %v", commandFor)
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // it ended well
	}
	if err == nil {
		return nil
	}
	if said := strings.TrimSpace(strings.ToValidUTF8(stderr.String(), "")); said != "" {
		return fmt.Errorf("run %s: %w: %s", r.Command[0], err, said)
	}
	return fmt.Errorf("run %s: %w", r.Command[0], err)
}

// run runs cmd and kills its group when ctx is over, and when its leader has
// ended, before anybody else can get the group's number.
func run(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	ended := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			_ = syscall.Kill(-pid, syscall.SIGKILL) // gone already is fine
		case <-ended:
		}
	}()
	return reap(cmd, func() {
		close(ended)
		<-watched
		_ = syscall.Kill(-pid, syscall.SIGKILL) // what it left behind
	})
}

// inherited is what a command gets of an environment.
func inherited(environ, secrets []string) []string {
	env := make([]string, 0, len(environ)+2)
	for _, e := range environ {
		key, _, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(key, "BEZOAR_") && key != "NOTIFY_SOCKET" && !strings.HasPrefix(key, "WATCHDOG_") &&
			!strings.HasPrefix(key, "LISTEN_") && !slices.Contains(secrets, key) {
			env = append(env, e)
		}
	}
	return env
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - commandTail; over > 0 {
		t.kept = slices.Delete(t.kept, 0, over)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept) }

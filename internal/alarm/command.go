package alarm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar/internal/proc"
)

const (
	commandFor  = 10 * time.Second
	commandTail = 1024 // bytes of stderr that are kept
)

// command runs the rule's command with the event on stdin.
func (a *Alarms) command(ctx context.Context, r Rule, e Event, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, commandFor)
	defer cancel()
	stderr := &proc.Tail{Max: commandTail}
	cmd := exec.Command(r.Command[0], r.Command[1:]...) // run ends the whole group, not the leader alone
	cmd.Env = append(proc.Inherit{Secrets: a.config.Secrets}.Of(a.config.Environ), "BEZOAR_ALARM="+r.Name, "BEZOAR_ALARM_STATUS="+e.Status)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(body), stderr
	cmd.SysProcAttr = proc.OwnGroup()
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
	if said := strings.TrimSpace(strings.ToValidUTF8(string(stderr.Bytes()), "")); said != "" {
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
			_ = proc.SignalGroup(pid, syscall.SIGKILL) // gone already is fine
		case <-ended:
		}
	}()
	return proc.Reap(pid, func() {
		close(ended)
		<-watched
		_ = proc.SignalGroup(pid, syscall.SIGKILL) // what it left behind
	}, cmd.Wait)
}

package tell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

const (
	commandFor  = 10 * time.Second
	commandTail = 1024 // bytes of stderr that are kept
)

// Run runs a command with a document on stdin, and env beside what it inherits.
func (t *Teller) Run(ctx context.Context, command, env []string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, commandFor)
	defer cancel()
	stderr := &proc.Tail{Max: commandTail}
	cmd := exec.Command(command[0], command[1:]...) // run ends the whole group, not the leader alone
	cmd.Env = append(proc.Inherit{Secrets: t.c.Secrets}.Of(t.c.Environ), env...)
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
		return fmt.Errorf("run %s: %w: %s", command[0], err, said)
	}
	return fmt.Errorf("run %s: %w", command[0], err)
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

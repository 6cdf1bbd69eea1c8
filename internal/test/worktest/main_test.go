//go:build linux

package worktest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/cli"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
)

// bezoarVar makes the test binary bezoar.
const bezoarVar = "WORKTEST_BEZOAR"

// programs is the folder of what tests build.
var programs string

func TestMain(m *testing.M) {
	if guardian.Run() {
		return
	}
	if os.Getenv(bezoarVar) == "" {
		os.Exit(test(m))
	}
	_ = os.Unsetenv(bezoarVar)
	go func() { // whatever becomes of the tests, nothing is left of them
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}()
	os.Exit(cli.Main(context.Background(), cli.Process{
		Args: os.Args[1:], Stdin: strings.NewReader(""), Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Exit: os.Exit,
		Guard:  guardian.Start,
		Engine: cli.Engine{Serve: serve, Queues: app.WithQueues},
	}))
}

// test runs six tests at once, on however few processors: above all they wait for
// what hangs to be stopped.
func test(m *testing.M) (code int) {
	var err error
	if programs, err = os.MkdirTemp("", "worktest-"); err == nil {
		defer os.RemoveAll(programs)
		err = flag.Set("test.parallel", "6") // before the command line is read, which may say otherwise
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func serve(ctx context.Context, cfg config.Config, s cli.Serving) error {
	return app.Run(ctx, cfg, app.Options{
		Log: s.Log, Output: s.Output, Restart: s.Restart,
		Started: func(a *app.App) { s.Ready(a.Addr(), a.SQSAddr(), a.AdminAddr()) },
	})
}

// soak chooses how much is done.
func soak(full, short int) int {
	if os.Getenv("BEZOAR_SOAK") != "" {
		return full
	}
	return short
}

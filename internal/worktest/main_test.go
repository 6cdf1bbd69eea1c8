//go:build linux

package worktest

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/cli"
	"github.com/bezoar-dev/bezoar/internal/config"
)

// bezoarVar makes the test binary bezoar.
const bezoarVar = "WORKTEST_BEZOAR"

func TestMain(m *testing.M) {
	if os.Getenv(bezoarVar) == "" {
		os.Exit(m.Run())
	}
	_ = os.Unsetenv(bezoarVar)
	go func() { // whatever becomes of the tests, nothing is left of them
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}()
	os.Exit(cli.Main(context.Background(), cli.Process{
		Args: os.Args[1:], Stdin: strings.NewReader(""), Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Exit: os.Exit,
		Engine: cli.Engine{Serve: serve, Queues: app.WithQueues},
	}))
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

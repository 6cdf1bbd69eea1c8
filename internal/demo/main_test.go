package demo

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/demo/sample"
)

// workerArg makes the test binary a sample worker.
const workerArg = "-sample-worker"

func TestMain(m *testing.M) {
	if slices.Contains(os.Args, workerArg) {
		os.Exit(work())
	}
	goleak.VerifyTestMain(m)
}

func work() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg, err := sample.ConfigFromEnv(os.Getenv)
	if err == nil {
		err = sample.New(cfg).Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// command starts one sample worker.
func command(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, workerArg}
}

// children returns the worker processes that this test binary has left.
func children(t *testing.T) []int {
	t.Helper()
	var left []int
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && strings.HasPrefix(string(line), self+"\x00"+workerArg) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
				left = append(left, pid)
			}
		}
	}
	return left
}

// alone fails the test if a worker outlives what started it.
func alone(t *testing.T) {
	t.Helper()
	if left := children(t); len(left) > 0 {
		t.Errorf("workers are left: %v", left)
	}
}

// soon polls until ok is true.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come true", what)
		}
	}
}

package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// The test binary plays more parts than the tests: Bezoar itself, to be killed, its
// callers and consumers. Workers are a program of their own, in testdata/worker.
const (
	roleVar  = "APP_TEST_ROLE"
	setupVar = "APP_TEST_SETUP"
	workVar  = "APP_TEST_WORKER" // the built program of workers
	buildVar = "APP_TEST_BUILD"  // a file; a worker that finds "bad" in it when it starts dies of every request
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "bezoar":
		os.Exit(victim())
	case "node":
		os.Exit(runNode())
	case "consumer":
		os.Exit(consumer())
	case "sleeper":
		os.Exit(sleeper())
	case "fragile":
		os.Exit(fragile())
	case "grpc":
		os.Exit(grpcWorker())
	default:
		dir, err := buildWorker()
		if err == nil {
			err = pace.AtOnce(pace.Rounds(3, 2)) // they wait for processes
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
			_ = os.RemoveAll(dir)
			os.Exit(code)
		}))
	}
}

// buildWorker builds the program of workers into a folder of its own, and tells it to
// the processes of the tests by workVar.
func buildWorker() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "app-test-"); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "worker")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./testdata/worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build the worker: %w\n%s", err, out)
	}
	return dir, os.Setenv(workVar, program)
}

// setup is what a test says about a fleet of such workers.
type setup struct {
	Replicas int
	Health   string
	Workers  []string      // external ones instead
	Replay   config.Replay `json:",omitzero"`
	Timeout  time.Duration
	Store    string
	StateDir string
	For      time.Duration
	Off      bool
	Report   bool        // only
	Build    string      // the file that says how good new workers are
	Bake     config.Bake `json:",omitzero"`
}

func (s setup) config() config.Config {
	cfg, f, r := config.Default(), config.DefaultFleet(), config.DefaultRoute()
	cfg.Listen, cfg.Admin = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Store, cfg.StateDir = config.MemoryStore, s.StateDir
	if s.Store != "" {
		cfg.Store = s.Store
	}
	f.Workers = s.Workers
	if len(s.Workers) == 0 {
		f.Command, f.Replicas = []string{os.Getenv(workVar)}, s.Replicas
		f.Env = map[string]string{roleVar: "worker", buildVar: s.Build}
	}
	if s.Bake != (config.Bake{}) {
		f.Bake = s.Bake
	}
	f.Health.Path = s.Health
	f.Grace = time.Second
	cfg.Fleets = map[string]config.Fleet{"app": f}
	r.Match.Path, r.Fleet = "/*", "app"
	if s.Replay != "" {
		r.Retry.Replay = s.Replay
	}
	if s.Timeout != 0 {
		r.Timeout = s.Timeout
	}
	if s.For != 0 {
		r.Quarantine.For = s.For
	}
	r.Quarantine.Off, r.Quarantine.ReportOnly = s.Off, s.Report
	cfg.Routes = []config.Route{r}
	return cfg.Normalize()
}

// victim runs Bezoar in a process of its own and says on stdout where.
func victim() int {
	var s setup
	if err := json.Unmarshal([]byte(os.Getenv(setupVar)), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := app.Run(ctx, s.config(), app.Options{
		Log:     slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Started: func(a *app.App) { fmt.Println(a.Addr(), a.AdminAddr()) },
		Extra:   func(*app.App) http.Handler { return http.HandlerFunc(ends) },
		Alone:   true,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// ends ends the process in a way that the path names.
func ends(w http.ResponseWriter, r *http.Request) {
	switch path.Base(r.URL.Path) {
	case "panic": // on a goroutine that serves nobody, as when an upload does
		go panic("a test wants it, with token=" + panicSecret)
		select {}
	case "overflow": // over this request
		debug.SetMaxStack(1 << 18)
		fmt.Fprintln(w, endless(0))
	case "memory":
		for hoard := [][]byte{}; ; {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			hoard = append(hoard, b)
		}
	}
}

const panicSecret = "open-sesame"

//go:noinline
func endless(n int) int {
	if n < 0 {
		return 0 // never: the stack ends long before
	}
	return endless(n+1) + n
}

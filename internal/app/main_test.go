package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// The test binary plays three parts: the tests, a worker that pills kill, and
// Bezoar itself, to be killed.
const (
	roleVar  = "APP_TEST_ROLE"
	setupVar = "APP_TEST_SETUP"
	buildVar = "APP_TEST_BUILD" // a file; a worker that finds "bad" in it when it starts dies of every request
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "worker":
		worker()
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
	case "leaky":
		os.Exit(leaky())
	default:
		if err := pace.AtOnce(pace.Rounds(3, 2)); err != nil { // they wait for processes
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		goleak.VerifyTestMain(m)
	}
}

// worker serves many requests at once, but one at a time below /loop, health
// included. It dies of a pill in the body or the query.
func worker() {
	var loop sync.Mutex
	mux := http.NewServeMux()
	build, _ := os.ReadFile(os.Getenv(buildVar)) // none: a good one
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {
		loop.Lock()
		defer loop.Unlock()
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		work := r.URL.RawQuery + string(body)
		if r.URL.Path == "/loop" {
			loop.Lock()
			defer loop.Unlock()
		}
		switch {
		case strings.Contains(work, "crash"), string(build) == "bad":
			_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
			select {}
		case strings.Contains(work, "exit"):
			fmt.Fprintf(os.Stderr, "fatal: a request called exit, with %s and %s\n", r.FormValue("token"), r.Header.Get("Authorization"))
			os.Exit(0)
		case strings.Contains(work, "hang"):
			loop.Lock() // for good, and with it the health check
			select {}
		case strings.Contains(work, "dawdle"):
			select {}
		case strings.Contains(work, "linger"): // its answer begins, and never ends
			_ = http.NewResponseController(w).Flush()
			select {}
		case strings.Contains(work, "ms=20"):
			time.Sleep(20 * time.Millisecond)
		case strings.Contains(work, "ms=80"):
			time.Sleep(80 * time.Millisecond)
		case strings.Contains(work, "slow"):
			time.Sleep(300 * time.Millisecond)
		default:
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Fprintf(w, "%d %s", os.Getpid(), work)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), mux))
	os.Exit(1)
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
		f.Command, f.Replicas = []string{"/proc/self/exe"}, s.Replicas
		if exe, err := os.Executable(); err == nil {
			f.Command[0] = exe
		}
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

package main

import (
	"context"
	_ "embed" // the Python worker
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

//go:embed worker.py
var pythonWorker []byte

// yaml is what a user would write: everything else is Bezoar's default. Rows add
// to fleet and route what they cannot do without.
const yaml = `listen: %s
admin: %s
store: sqlite:bezoar.db
fleets:
  app:
    command: %s
    replicas: %d
    health: {path: /healthz}
    env: {ATTACK_LIVES: %s, ATTACK_BUILD: %s}
%sroutes:
  - match: {path: /*}
    fleet: app
%s`

const (
	bezoar     = "bezoar" // the name of the proxy in reports
	healthPath = "/healthz"
)

// settings are what a row needs beyond the defaults, as lines of YAML.
type settings struct {
	fleet, route []string
	http2        bool // callers, Bezoar and workers speak HTTP/2; the workers are in Go
}

// A gate is Bezoar before its own workers, in a folder of its own.
type gate struct {
	bench  *peer.Bench
	bin    string
	dir    string
	addr   string
	admin  string
	lives  lives
	build  string // the file that says which build workers are
	child  *proc.Child
	client *http.Client
}

// newGate writes the settings.
func newGate(ctx context.Context, cfg Config, bench *peer.Bench, set settings) (*gate, error) {
	bin, err := bench.Binary(ctx)
	if err != nil {
		return nil, err
	}
	if set.http2 {
		cfg.Lang = "go"
		set.fleet = append(set.fleet, "http2: true")
	}
	command, err := workerCommand(ctx, cfg.Lang, bench)
	if err != nil {
		return nil, err
	}
	addrs, err := proc.FreeAddrs(2)
	if err != nil {
		return nil, err
	}
	g := &gate{
		bench: bench, bin: bin, dir: bench.Dir(), addr: addrs[0], admin: addrs[1],
		lives: lives{filepath.Join(bench.Dir(), "lives")}, build: filepath.Join(bench.Dir(), "build"),
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConns: 2}},
	}
	if cfg.Callers == byHeader {
		set.route = append(set.route, "client: header:X-Api-Key")
	}
	quoted, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(yaml, g.addr, g.admin, quoted, cfg.Workers, g.lives.file, g.build,
		indent(set.fleet), indent(set.route))
	return g, os.WriteFile(g.file(), []byte(text), 0o600)
}

func indent(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("    " + line + "\n")
	}
	return b.String()
}

func (g *gate) file() string { return filepath.Join(g.dir, "bezoar.yaml") }

// workerCommand returns how a worker of the language is started.
func workerCommand(ctx context.Context, lang string, bench *peer.Bench) ([]string, error) {
	if lang == "go" {
		bin, err := bench.Build(ctx, "attack/worker")
		return []string{bin}, err
	}
	// The interpreter itself, not a shim that looks for it at each start.
	out, err := exec.CommandContext(ctx, "python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return nil, fmt.Errorf("find python3: %w", err)
	}
	file := filepath.Join(bench.Dir(), "worker.py")
	return []string{strings.TrimSpace(string(out)), file}, os.WriteFile(file, pythonWorker, 0o600)
}

// start runs Bezoar and waits until all workers are ready.
func (g *gate) start(ctx context.Context, workers int) error {
	if err := g.launch(ctx); err != nil {
		return err
	}
	return g.until(ctx, func() bool {
		f, err := g.fleet(ctx)
		return err == nil && f.ready() == workers
	})
}

// launch runs Bezoar and waits until it answers through to a worker.
func (g *gate) launch(ctx context.Context) error {
	child, err := g.bench.Start(proc.Spec{
		Name: "bezoar", Dir: g.dir, Args: []string{g.bin, "serve", "-c", g.file()},
	})
	if err != nil {
		return err
	}
	g.child = child
	return peer.Wait(ctx, child, "http://"+g.addr+healthPath)
}

// until looks again and again.
func (g *gate) until(ctx context.Context, ok func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, fmt.Errorf("the workers are not ready after 30 s"))
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-g.child.Done():
			return g.child.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// command runs bezoar with arguments against the admin API.
func (g *gate) command(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, g.bin, append(args, "--admin", g.admin)...)
	cmd.Dir = g.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("bezoar %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// ask reads a document of the admin API.
func (g *gate) ask(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.admin+path, nil)
	if err != nil {
		return err
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the admin API: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("ask the admin API for %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the admin API answers %s to %s: %.200s", resp.Status, path, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the admin API's answer to %s: %w", path, err)
	}
	return nil
}

// fleetState is what is read of the admin API's /api/v1/fleets.
type fleetState struct {
	Workers []struct {
		Name, State string
		PID         int
		Lane        bool
		Restarts    int
	}
	Counters map[string]int
}

func (f *fleetState) ready() int {
	n := 0
	for _, w := range f.Workers {
		if w.State == "ready" {
			n++
		}
	}
	return n
}

func (g *gate) fleet(ctx context.Context) (*fleetState, error) {
	var all struct{ Fleets []fleetState }
	if err := g.ask(ctx, "/api/v1/fleets", &all); err != nil {
		return nil, err
	}
	if len(all.Fleets) != 1 {
		return nil, fmt.Errorf("the admin API knows %d fleets, want 1", len(all.Fleets))
	}
	return &all.Fleets[0], nil
}

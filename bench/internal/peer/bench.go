package peer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

// ready is how long a proxy may take until it answers.
const ready = 15 * time.Second

// Config says where things are.
type Config struct {
	Bezoar string // the binary; "" builds cmd/bezoar of the checkout around this module
	Cores  string // for the proxies, as taskset -c takes them; "" means any
	Health string // the path that tells whether a worker is well; "" asks for "/"
}

// A Bench owns a folder for configurations and binaries, and every process
// started on it.
type Bench struct {
	cfg      Config
	dir      string
	leash    *proc.Leash
	children []*proc.Child
}

// New makes a bench. The caller owes it a Close.
func New(cfg Config) (*Bench, error) {
	dir, err := os.MkdirTemp("", "bezoar-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the bench: %w", err)
	}
	leash, err := proc.NewLeash()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Bench{cfg: cfg, dir: dir, leash: leash}, nil
}

// Close ends every process and removes the folder.
func (b *Bench) Close() {
	b.leash.Close()
	for _, c := range b.children {
		c.Stop()
	}
	_ = os.RemoveAll(b.dir)
}

// Dir returns the bench's folder.
func (b *Bench) Dir() string { return b.dir }

// Start starts a process that Close ends.
func (b *Bench) Start(s proc.Spec) (*proc.Child, error) {
	s.Leash = b.leash.End
	c, err := proc.Start(s)
	if err == nil {
		b.children = append(b.children, c)
	}
	return c, err
}

// Build builds one of this module's programs and returns its path.
func (b *Bench) Build(ctx context.Context, name string) (string, error) {
	return b.build(ctx, "", "./"+name, name)
}

func (b *Bench) build(ctx context.Context, dir, pkg, name string) (string, error) {
	root, err := moduleDir(ctx)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, "bin", name)
	if _, err := os.Stat(path); err == nil {
		return path, nil // built before
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, pkg)
	cmd.Dir = filepath.Join(root, dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

// moduleDir finds the folder of this module from wherever it was run in it.
func moduleDir(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	path, dir, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || !ok || !strings.HasSuffix(path, "/bench") {
		return "", errors.New("run this in the folder bench of the checkout, or with: go run -C bench")
	}
	return dir, nil
}

// Installed reports whether a peer's program is there.
func Installed(name string) bool {
	_, err := find(name)
	return err == nil
}

// find returns the path of a peer's program.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	if path, err := exec.LookPath("/usr/sbin/" + name); err == nil { // not on everybody's PATH
		return path, nil
	}
	return "", fmt.Errorf("%s is not installed: run scripts/peers", name)
}

// A Proxy is one that runs.
type Proxy struct {
	*proc.Child
	Addr string // host:port
	Wire Wire
}

// URL returns where the proxy listens.
func (p *Proxy) URL() string { return p.Wire.scheme() + "://" + p.Addr }

// start runs a proxy and waits until it answers through to a worker.
func (b *Bench) start(ctx context.Context, addr string, w Wire, s proc.Spec) (*Proxy, error) {
	s.Cores = b.cfg.Cores
	c, err := b.Start(s)
	if err != nil {
		return nil, err
	}
	p := &Proxy{Child: c, Addr: addr, Wire: w}
	if err := wait(ctx, c, p.URL()+b.cfg.Health, w); err != nil {
		c.Stop()
		return nil, err
	}
	return p, nil
}

// Wait returns when url answers 200, or with an error when the process that
// should make it do so has ended or takes too long.
func Wait(ctx context.Context, c *proc.Child, url string) error { return wait(ctx, c, url, Wire{}) }

func wait(ctx context.Context, c *proc.Child, url string, w Wire) error {
	ctx, cancel := context.WithTimeoutCause(ctx, ready, fmt.Errorf("no answer 200 from %s within %v", url, ready))
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	transport := w.Transport()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: time.Second}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-look.C:
		case <-c.Done():
			return c.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

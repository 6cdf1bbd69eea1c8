package main

import (
	"context"
	_ "embed" // the load script
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

//go:embed load.lua
var loadScript []byte

const (
	connections = 64
	warmup      = time.Second // of every proxy in every case, not counted
	maxRequests = 32 << 20    // bytes of all distinct requests of a case
)

// The proxies' names.
const (
	nginx        = "nginx"
	haproxy      = "haproxy"
	reverseProxy = "ReverseProxy"
	bezoar       = "bezoar"
)

func proxies() []string { return []string{nginx, haproxy, reverseProxy, bezoar} }

// A sample is one measurement.
type sample struct {
	cpu      time.Duration // per request
	perSec   float64
	p50, p99 time.Duration
	requests int64
	failed   int64
}

type key struct{ row, proxy string }

// Measure runs every case on every proxy, round by round.
func Measure(ctx context.Context, cfg Config, progress io.Writer) (*Report, error) {
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		return nil, fmt.Errorf("wrk is not installed: run scripts/peers")
	}
	proxyCores, loadCores := cores(runtime.NumCPU())
	bench, err := peer.New(peer.Config{Bezoar: cfg.Bezoar, Cores: proxyCores})
	if err != nil {
		return nil, err
	}
	defer bench.Close()
	load := loader{wrk: wrk, script: filepath.Join(bench.Dir(), "load.lua"), cores: loadCores, distinct: cfg.Distinct}
	if err := os.WriteFile(load.script, loadScript, 0o600); err != nil {
		return nil, err
	}
	running, err := startAll(ctx, cfg, bench, loadCores)
	if err != nil {
		return nil, err
	}
	samples := map[key][]sample{}
	for _, c := range cfg.Cases {
		for _, name := range cfg.Proxies {
			if _, err := load.measure(ctx, running[name], c, warmup); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", c.Name, name, err)
			}
		}
		for round := range cfg.Rounds {
			for _, name := range cfg.Proxies {
				s, err := load.measure(ctx, running[name], c, cfg.Length)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", c.Name, name, err)
				}
				samples[key{c.Name, name}] = append(samples[key{c.Name, name}], s)
				fmt.Fprintf(progress, "%s, round %d of %d, %s: %.2f µs of CPU per request\n",
					c.Name, round+1, cfg.Rounds, name, micros(s.cpu))
			}
		}
	}
	return newReport(cfg, samples), nil
}

// cores gives the last core to the proxies, which take turns, and the others to
// the load and the workers.
func cores(n int) (proxies, others string) {
	if n < 2 {
		return "", ""
	}
	return strconv.Itoa(n - 1), "0-" + strconv.Itoa(n-2)
}

// startAll starts two workers and the proxies before them.
func startAll(ctx context.Context, cfg Config, bench *peer.Bench, loadCores string) (map[string]*peer.Proxy, error) {
	stub, err := bench.Build(ctx, "stub")
	if err != nil {
		return nil, err
	}
	workers, err := proc.FreeAddrs(2)
	if err != nil {
		return nil, err
	}
	c, err := bench.Start(proc.Spec{Name: "stub", Args: append([]string{stub}, workers...), Cores: loadCores})
	if err != nil {
		return nil, err
	}
	if err := peer.Wait(ctx, c, "http://"+workers[1]); err != nil {
		return nil, err
	}
	start := map[string]func() (*peer.Proxy, error){
		nginx:        func() (*peer.Proxy, error) { return bench.Nginx(ctx, workers, peer.Extra{}) },
		haproxy:      func() (*peer.Proxy, error) { return bench.HAProxy(ctx, workers, peer.Extra{}) },
		reverseProxy: func() (*peer.Proxy, error) { return bench.Stock(ctx, workers) },
		bezoar:       func() (*peer.Proxy, error) { return bench.Bezoar(ctx, workers) },
	}
	running := map[string]*peer.Proxy{}
	for _, name := range cfg.Proxies {
		if running[name], err = start[name](); err != nil {
			return nil, err
		}
	}
	return running, nil
}

// A loader runs wrk.
type loader struct {
	wrk, script, cores string
	distinct           int
}

// figures is the line that the script ends with.
type figures struct {
	Requests int64 `json:"requests"`
	Micros   int64 `json:"micros"`
	P50      int64 `json:"p50_us"`
	P99      int64 `json:"p99_us"`
	Broken   int64 `json:"broken"`
	Refused  int64 `json:"refused"`
}

func (l loader) measure(ctx context.Context, p *peer.Proxy, c Case, length time.Duration) (sample, error) {
	distinct := min(l.distinct, maxRequests/(c.Body+200))
	args := []string{
		l.wrk, "-t1", "-c" + strconv.Itoa(connections), "-d" + length.String(), "-s", l.script, p.URL(),
		"--", c.Method, strconv.Itoa(c.Body), strconv.Itoa(distinct),
	}
	if path, err := exec.LookPath("taskset"); err == nil && l.cores != "" {
		args = append([]string{path, "-c", l.cores}, args...)
	}
	before, err := p.CPU()
	if err != nil {
		return sample{}, err
	}
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if ctx.Err() != nil {
		return sample{}, context.Cause(ctx)
	}
	if err != nil {
		return sample{}, fmt.Errorf("run wrk: %w", err)
	}
	after, err := p.CPU()
	if err != nil {
		return sample{}, err
	}
	f, err := parseFigures(string(out))
	if err != nil {
		return sample{}, err
	}
	return sample{
		cpu:    (after - before) / time.Duration(f.Requests),
		perSec: float64(f.Requests) * 1e6 / float64(f.Micros),
		p50:    time.Duration(f.P50) * time.Microsecond, p99: time.Duration(f.P99) * time.Microsecond,
		requests: f.Requests, failed: f.Broken + f.Refused,
	}, nil
}

func parseFigures(out string) (figures, error) {
	var f figures
	for line := range strings.Lines(out) {
		if text, ok := strings.CutPrefix(line, "bench "); ok {
			if err := json.Unmarshal([]byte(text), &f); err != nil {
				return f, fmt.Errorf("read wrk's figures %q: %w", text, err)
			}
		}
	}
	if f.Requests == 0 || f.Micros == 0 {
		return f, fmt.Errorf("wrk got no answer; it said:\n%s", out)
	}
	return f, nil
}

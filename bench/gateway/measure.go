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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/calls"
	"github.com/bezoar-dev/bezoar/bench/internal/peer"
	"github.com/bezoar-dev/bezoar/bench/internal/proc"
	"github.com/bezoar-dev/bezoar/internal/test/bodies"
)

//go:embed load.lua
var loadScript []byte

const (
	connections = 64          // and callers: each has one request at a time
	warmup      = time.Second // of every proxy in every case, not counted
	maxRequests = 32 << 20    // bytes of all distinct requests of a case
)

// The proxies' names.
const (
	nginx        = "nginx"
	haproxy      = "haproxy"
	reverseProxy = "ReverseProxy"
	bezoar       = "bezoar"
	before       = "before" // another build of Bezoar
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
	load := loader{wrk: wrk, script: filepath.Join(bench.Dir(), "load.lua"), bodies: filepath.Join(bench.Dir(), "bodies"), cores: loadCores, distinct: cfg.Distinct}
	if err := os.WriteFile(load.script, loadScript, 0o600); err != nil {
		return nil, err
	}
	if load.calls, err = bench.Build(ctx, "calls"); err != nil {
		return nil, err
	}
	samples := map[key][]sample{}
	for _, c := range cfg.Cases {
		if err := measureCase(ctx, cfg, c, bench, &load, samples, progress); err != nil {
			return nil, err
		}
	}
	return newReport(cfg, samples), nil
}

// measureCase runs a case on fresh proxies.
func measureCase(ctx context.Context, cfg Config, c Case, bench *peer.Bench, load *loader, samples map[key][]sample, progress io.Writer) error {
	if c.New {
		if err := c.writeBodies(load.bodies); err != nil {
			return err
		}
	}
	running, stop, err := startAll(ctx, cfg, c, bench, load.cores)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	defer stop()
	for _, name := range cfg.Proxies {
		err := c.check(ctx, running[name])
		if err == nil {
			_, err = load.measure(ctx, running[name], c, warmup)
		}
		if err != nil {
			return fmt.Errorf("%s, %s: %w", c.Name, name, err)
		}
	}
	for round := range cfg.Rounds {
		for _, name := range cfg.Proxies {
			s, err := load.measure(ctx, running[name], c, cfg.Length)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.Name, name, err)
			}
			samples[key{c.Name, name}] = append(samples[key{c.Name, name}], s)
			fmt.Fprintf(progress, "%s, round %d of %d, %s: %.2f µs of CPU per request\n",
				c.Name, round+1, cfg.Rounds, name, micros(s.cpu))
		}
	}
	return nil
}

// cores gives the last core to the proxies, which take turns, and the others to
// the load and the workers.
func cores(n int) (proxies, others string) {
	if n < 2 {
		return "", ""
	}
	return strconv.Itoa(n - 1), "0-" + strconv.Itoa(n-2)
}

// startAll starts two workers of the case and the proxies before them. The caller
// stops them all; what an error leaves is the bench's.
func startAll(ctx context.Context, cfg Config, c Case, bench *peer.Bench, loadCores string) (running map[string]*peer.Proxy, stop func(), err error) {
	addrs, worker, err := startWorkers(ctx, c, bench, loadCores)
	if err != nil {
		return nil, nil, err
	}
	extra := peer.Extra{Wire: c.Wire}
	start := map[string]func() (*peer.Proxy, error){
		nginx:        func() (*peer.Proxy, error) { return bench.Nginx(ctx, addrs, extra) },
		haproxy:      func() (*peer.Proxy, error) { return bench.HAProxy(ctx, addrs, extra) },
		reverseProxy: func() (*peer.Proxy, error) { return bench.Stock(ctx, addrs, c.Wire) },
		bezoar:       func() (*peer.Proxy, error) { return startBezoar(ctx, cfg.Bezoar, addrs, c, bench) },
		before:       func() (*peer.Proxy, error) { return startBezoar(ctx, cfg.Before, addrs, c, bench) },
	}
	running = map[string]*peer.Proxy{}
	for _, name := range cfg.Proxies {
		if running[name], err = start[name](); err != nil {
			return nil, nil, err
		}
	}
	return running, func() {
		for _, p := range running {
			p.Stop()
		}
		worker.Stop()
	}, nil
}

func startBezoar(ctx context.Context, binary string, workers []string, c Case, bench *peer.Bench) (*peer.Proxy, error) {
	bench.Use(binary)
	if c.Wire.TLS || c.Wire.GRPC {
		return bench.BezoarServe(ctx, workers, c.Wire)
	}
	return bench.Bezoar(ctx, workers)
}

// startWorkers starts a process that is two workers.
func startWorkers(ctx context.Context, c Case, bench *peer.Bench, cores string) (addrs []string, worker *proc.Child, err error) {
	name, args := "stub", []string{"-answer", strconv.Itoa(c.answer())}
	if c.Calls != "" {
		name, args = "calls", []string{"serve"}
	}
	bin, err := bench.Build(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if addrs, err = proc.FreeAddrs(2); err != nil {
		return nil, nil, err
	}
	args = slices.Concat([]string{bin}, args, addrs)
	if worker, err = bench.Start(proc.Spec{Name: name, Args: args, Cores: cores}); err != nil {
		return nil, nil, err
	}
	return addrs, worker, peer.Wait(ctx, worker, "http://"+addrs[1])
}

// A loader runs wrk, or calls for what wrk cannot do.
type loader struct {
	wrk, script, bodies, calls, cores string
	distinct                          int
}

// command returns what sends the requests of c.
func (l *loader) command(p *peer.Proxy, c Case, length time.Duration) []string {
	if c.Calls != "" {
		return []string{l.calls, c.Calls, p.Addr, strconv.Itoa(connections), strconv.Itoa(l.distinct), length.String()}
	}
	args := []string{
		l.wrk, "-t1", "-c" + strconv.Itoa(connections), "-d" + length.String(), "-s", l.script, p.URL(), "--", c.Method,
	}
	if c.New {
		return append(args, "new", l.bodies, bodies.Mark)
	}
	return append(args, strconv.Itoa(c.Body), strconv.Itoa(min(l.distinct, maxRequests/(c.Body+200))))
}

func (l *loader) measure(ctx context.Context, p *peer.Proxy, c Case, length time.Duration) (sample, error) {
	args := l.command(p, c, length)
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
		return sample{}, fmt.Errorf("run %s: %w", filepath.Base(args[0]), err)
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

// parseFigures reads the line that the load ends with.
func parseFigures(out string) (calls.Figures, error) {
	var f calls.Figures
	for line := range strings.Lines(out) {
		if text, ok := strings.CutPrefix(line, "bench "); ok {
			if err := json.Unmarshal([]byte(text), &f); err != nil {
				return f, fmt.Errorf("read the figures %q: %w", text, err)
			}
		}
	}
	if f.Requests == 0 || f.Micros == 0 {
		return f, fmt.Errorf("the load got no answer; it said:\n%s", out)
	}
	return f, nil
}

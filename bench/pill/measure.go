package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/peer"
	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

// loop is the whole supervisor of a worker.
const loop = `while :; do "$0" "$@"; sleep 3; done`

const healthPath = "/healthz" // of the workers

// Measure runs row after row, each with a fresh fleet.
func Measure(ctx context.Context, cfg Config, progress io.Writer) (*Report, error) {
	report := newReport(cfg)
	for _, r := range rows() {
		for _, name := range cfg.Rows {
			if name != r.name {
				continue
			}
			fmt.Fprintf(progress, "%s: %d workers, %d good requests/s, pill %s, %v\n", r.name, cfg.Workers, cfg.Rate, cfg.Pill, cfg.Length)
			result, notes, err := measureRow(ctx, cfg, r)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
			report.Rows = append(report.Rows, result)
			if cfg.Explain {
				for _, note := range notes {
					fmt.Fprintln(progress, "  ", note)
				}
			}
		}
	}
	return report, nil
}

func measureRow(ctx context.Context, cfg Config, r row) (Row, []string, error) {
	bench, err := peer.New(peer.Config{Bezoar: cfg.Bezoar, Health: healthPath})
	if err != nil {
		return Row{}, nil, err
	}
	defer bench.Close()
	f, err := startFleet(ctx, cfg, bench)
	if err != nil {
		return Row{}, nil, err
	}
	proxy, err := r.start(ctx, bench, f.addrs, cfg.Pill)
	if err != nil {
		return Row{}, nil, err
	}
	c := newCrowd(cfg, proxy.URL())
	t, end, err := c.run(ctx)
	if err != nil {
		return Row{}, nil, err
	}
	if err := proxy.Err(); err != nil {
		return Row{}, nil, err
	}
	lost, last := f.losses()
	return newRow(r.name, t, lost, last, end), append(t.notes, t.slowest()...), nil
}

// A fleet is the workers and how many lives they lost.
type fleet struct {
	addrs []string

	mu   sync.Mutex // guards the rest
	lost int
	last time.Time
}

func startFleet(ctx context.Context, cfg Config, bench *peer.Bench) (*fleet, error) {
	bin, err := bench.Build(ctx, "worker")
	if err != nil {
		return nil, err
	}
	f := new(fleet)
	if f.addrs, err = proc.FreeAddrs(cfg.Workers); err != nil {
		return nil, err
	}
	for i, addr := range f.addrs {
		c, err := bench.Start(proc.Spec{
			Name: fmt.Sprintf("worker %d", i+1),
			Args: []string{"sh", "-c", loop, bin, addr, cfg.Pill.dies()},
			Line: f.heard,
		})
		if err != nil {
			return nil, err
		}
		if err := peer.Wait(ctx, c, "http://"+addr+healthPath); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// heard counts what the workers say: nothing but "lost".
func (f *fleet) heard(string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost++
	f.last = time.Now()
}

func (f *fleet) losses() (int, time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost, f.last
}

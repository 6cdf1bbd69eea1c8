package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/proc"
)

// Measure runs every row: each load on a fresh server, bare and behind a pool.
func Measure(ctx context.Context, cfg Config, progress io.Writer) (*Report, error) {
	leash, err := proc.NewLeash()
	if err != nil {
		return nil, err
	}
	defer leash.Close()
	report := &Report{Workers: cfg.Workers, ServiceMS: ms(cfg.Service), Seconds: cfg.Length.Seconds()}
	if report.Capacity, err = capacity(ctx, cfg, leash); err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "capacity: %.1f/s\n", report.Capacity)
	for _, load := range cfg.Loads {
		for _, how := range []string{"bare", "pool"} {
			row := Row{Load: load, Pool: how == "pool"}
			err := with(ctx, cfg, leash, how, func(_ *proc.Child, addr string) error {
				c := newCrowd(addr)
				err := c.run(ctx, load*report.Capacity, cfg.Warm, cfg.Length)
				row.Tally = c.tally
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("load %g, %s: %w", load, how, err)
			}
			row.sum(report.Capacity, cfg.Length)
			report.Rows = append(report.Rows, row)
			fmt.Fprintf(progress, "load %4.1f %s: goodput %.3f\n", load, how, row.Goodput)
		}
	}
	if report.EmptyUS, err = cost(ctx, cfg, leash, "bare", "/empty", nil, http.StatusNoContent); err != nil {
		return nil, fmt.Errorf("the cost of an empty answer: %w", err)
	}
	for _, kib := range []int{1, 16, 64} {
		c, text := Cost{KiB: kib}, body(kib)
		if c.ServedUS, err = cost(ctx, cfg, leash, "bare", "/page", text, http.StatusOK); err != nil {
			return nil, fmt.Errorf("the cost of serving %d KiB: %w", kib, err)
		}
		if c.RefusedUS, err = cost(ctx, cfg, leash, "full", "/page", text, http.StatusServiceUnavailable); err != nil {
			return nil, fmt.Errorf("the cost of refusing %d KiB: %w", kib, err)
		}
		report.Costs = append(report.Costs, c)
	}
	return report, nil
}

// with runs f beside a server.
func with(ctx context.Context, cfg Config, leash *proc.Leash, how string, f func(server *proc.Child, addr string) error) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	addrs := make(chan string, 1)
	child, err := proc.Start(proc.Spec{
		Name:  how + " server",
		Args:  []string{self, "-serve", how, "-workers", strconv.Itoa(cfg.Workers), "-service", cfg.Service.String()},
		Leash: leash.End,
		Line: func(line string) {
			select {
			case addrs <- line:
			default:
			}
		},
	})
	if err != nil {
		return err
	}
	defer child.Stop()
	select {
	case addr := <-addrs:
		return f(child, addr)
	case <-child.Done():
		return child.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// capacity is what the bare server does for callers who come one after the
// other, one for each of its workers.
func capacity(ctx context.Context, cfg Config, leash *proc.Leash) (perSecond float64, err error) {
	err = with(ctx, cfg, leash, "bare", func(_ *proc.Child, addr string) error {
		n, took, err := loop(ctx, "http://"+addr+"/work", nil, cfg.Workers, 30*cfg.Service, http.StatusOK)
		perSecond = float64(n) / took.Seconds()
		return err
	})
	return perSecond, err
}

// cost is the server's CPU time for one request to path, in µs.
func cost(ctx context.Context, cfg Config, leash *proc.Leash, how, path string, text []byte, want int) (us float64, err error) {
	err = with(ctx, cfg, leash, how, func(server *proc.Child, addr string) error {
		url := "http://" + addr + path
		if _, _, err := loop(ctx, url, text, 4, cfg.Cost/4, want); err != nil { // to warm up
			return err
		}
		before, err := server.CPU()
		if err != nil {
			return err
		}
		n, _, err := loop(ctx, url, text, 4, cfg.Cost, want)
		if err != nil {
			return err
		}
		after, err := server.CPU()
		us = float64(after-before) / float64(time.Microsecond) / float64(n)
		return err
	})
	return us, err
}

// loop lets clients send one request after the other for a time, and wants the
// same status every time.
func loop(ctx context.Context, url string, text []byte, clients int, length time.Duration, want int) (n int, took time.Duration, err error) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	began := time.Now()
	var all sync.WaitGroup
	var mu sync.Mutex // guards n and err
	for range clients {
		all.Go(func() {
			for time.Since(began) < length {
				status, failed := post(ctx, client, url, text)
				if failed == nil && status != want {
					failed = fmt.Errorf("%s answered %d, want %d", url, status, want)
				}
				mu.Lock()
				n++
				if err == nil {
					err = failed
				}
				mu.Unlock()
				if failed != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return n, time.Since(began), err
}

func post(ctx context.Context, client *http.Client, url string, text []byte) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

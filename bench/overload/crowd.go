package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

const (
	patience = time.Second // of a caller
	callers  = 1000
	maxOpen  = 16384 // requests at once; more are not sent, and have failed
)

// mix is each priority's part of the load. At ten times the capacity
// CriticalPlus alone is half of it.
func mix() [shed.Tiers]float64 { return [shed.Tiers]float64{0.05, 0.15, 0.30, 0.50} }

// Tally is what callers saw.
type Tally struct {
	Sent    int `json:"sent"`
	Served  int `json:"served"`
	Refused int `json:"refused"`
	GaveUp  int `json:"gave_up"`
	Failed  int `json:"failed"`
}

// Share is the part that was served.
func (t Tally) Share() float64 { return float64(t.Served) / float64(max(t.Sent, 1)) }

// crowd sends requests at times of its own, whatever the answers (open loop).
type crowd struct {
	url    string
	client *http.Client
	open   chan struct{}
	all    sync.WaitGroup

	mu    sync.Mutex // guards tally
	tally [shed.Tiers]Tally
}

func newCrowd(addr string) *crowd {
	return &crowd{
		url: "http://" + addr + "/work",
		client: &http.Client{Transport: &http.Transport{
			MaxIdleConns: maxOpen, MaxIdleConnsPerHost: maxOpen, DisableCompression: true,
		}},
		open: make(chan struct{}, maxOpen),
	}
}

// run sends rate requests a second, and counts those sent after warm.
func (c *crowd) run(ctx context.Context, rate float64, warm, length time.Duration) error {
	defer c.client.CloseIdleConnections()
	rng := rand.New(rand.NewPCG(1, uint64(rate*1000)))
	began := time.Now()
	next := time.Duration(0)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for next < warm+length {
		next += time.Duration(rng.ExpFloat64() / rate * float64(time.Second))
		timer.Reset(next - time.Since(began))
		select {
		case <-timer.C:
		case <-ctx.Done():
			c.all.Wait()
			return ctx.Err()
		}
		p, caller, counted := pick(rng), 1+rng.IntN(callers), next >= warm
		select {
		case c.open <- struct{}{}:
		default:
			c.count(p, counted, func(t *Tally) { t.Sent++; t.Failed++ })
			continue
		}
		c.all.Go(func() {
			c.call(ctx, p, caller, counted)
			<-c.open
		})
	}
	c.all.Wait()
	return nil
}

func pick(rng *rand.Rand) shed.Priority {
	x := rng.Float64()
	for tier, part := range mix() {
		if x -= part; x < 0 {
			return shed.Priorities()[tier]
		}
	}
	return shed.Sheddable
}

func (c *crowd) count(p shed.Priority, counted bool, add func(*Tally)) {
	if !counted {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	add(&c.tally[p.Tier()])
}

// call sends one request and waits as long as its caller does.
func (c *crowd) call(ctx context.Context, p shed.Priority, caller int, counted bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	status, err := c.send(ctx, p, caller)
	c.count(p, counted, func(t *Tally) {
		t.Sent++
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			t.GaveUp++
		case err != nil:
			t.Failed++
		case status == http.StatusOK:
			t.Served++
		case status == http.StatusServiceUnavailable:
			t.Refused++
		default:
			t.Failed++
		}
	})
}

func (c *crowd) send(ctx context.Context, p shed.Priority, caller int) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, http.NoBody)
	if err != nil {
		return 0, err
	}
	req.Header.Set(priorityHeader, p.String())
	req.Header.Set(callerHeader, strconv.Itoa(caller))
	req.Header.Set(timeoutHeader, patience.String())
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("send: %w", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, fmt.Errorf("read: %w", err)
	}
	return resp.StatusCode, nil
}

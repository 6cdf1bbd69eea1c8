package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Bounds of a crowd.
const (
	MaxRate  = 2_000           // good requests per second
	maxOpen  = 4_096           // requests without an answer; more are lost unsent
	patience = 8 * time.Second // how long a caller waits
	settle   = 3 * time.Second // how long good callers are waited for at the end
	maxReply = 64 << 10
)

// Config says how a crowd behaves.
type Config struct {
	Rate int           // good requests per second; 1 to MaxRate
	Pill Pill          // what is sent all the while; "" means nothing
	Lead time.Duration // good traffic alone before the first pill
	Seed uint64        // of the good requests
}

// Validate joins every fault.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(c.Rate < 1 || c.Rate > MaxRate, "rate is %d, want 1 to %d good requests per second", c.Rate, MaxRate)
	if c.Pill != "" {
		_, err := ParsePill(string(c.Pill))
		errs = append(errs, err)
	}
	errs.If(c.Lead < 0, "lead %v is negative", c.Lead)
	return errors.Join(errs...)
}

// A Crowd sends requests to one address and tallies what comes of them.
type Crowd struct {
	cfg    Config
	target string // base URL
	tally  Tally
	client *http.Client
	open   chan struct{} // one token per request without an answer
	doses  int           // sent; of the loop that sends pills
}

// New returns a crowd that sends to the base URL target.
func New(cfg Config, target string) (*Crowd, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("traffic: %w", err)
	}
	c := &Crowd{
		cfg: cfg, target: target,
		client: &http.Client{Transport: &http.Transport{
			MaxIdleConns: 512, MaxIdleConnsPerHost: 512, DisableCompression: true,
		}},
		open: make(chan struct{}, maxOpen),
	}
	return c, nil
}

func (c *Crowd) Tally() *Tally { return &c.tally }

// Run sends until d has passed. Then it waits a moment
// for the answers to good requests and gives up the rest. It returns nil, or
// the cause for which it was stopped before d had passed.
func (c *Crowd) Run(ctx context.Context, d time.Duration) error {
	calls, hangUp := context.WithCancel(ctx) // outlives the sending by settle
	defer c.client.CloseIdleConnections()
	defer hangUp()
	sending, stop := context.WithTimeout(ctx, d)
	defer stop()

	var good, bad sync.WaitGroup // requests without an answer
	var loops sync.WaitGroup
	loops.Go(func() { c.sendGood(sending, calls, &good) })
	if c.cfg.Pill != "" {
		loops.Go(func() { c.sendPills(sending, calls, &bad) })
	}
	loops.Wait()

	all := make(chan struct{})
	go func() { good.Wait(); close(all) }()
	select {
	case <-all:
	case <-time.After(settle):
	case <-ctx.Done():
	}
	hangUp()
	<-all
	bad.Wait()
	return context.Cause(ctx)
}

func (c *Crowd) sendGood(ctx, calls context.Context, wg *sync.WaitGroup) {
	m := newMix(c.cfg.Seed)
	every(ctx, time.Second/time.Duration(c.cfg.Rate), func() { c.launch(calls, wg, m.next(), false) })
}

func (c *Crowd) sendPills(ctx, calls context.Context, wg *sync.WaitGroup) {
	select {
	case <-time.After(c.cfg.Lead):
	case <-ctx.Done():
		return
	}
	every(ctx, c.cfg.Pill.Every(), func() { c.dose(calls, wg) })
}

func (c *Crowd) dose(ctx context.Context, wg *sync.WaitGroup) {
	for range c.cfg.Pill.Dose() {
		c.launch(ctx, wg, c.cfg.Pill.request(c.doses), true)
		c.doses++
	}
}

// every calls f at once and then at fixed times until ctx ends. What is late is
// made up for, so that the rate holds.
func every(ctx context.Context, interval time.Duration, f func()) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for next := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return
		}
		f()
		next = next.Add(interval)
		timer.Reset(time.Until(next))
	}
}

// launch sends one request from a goroutine of its own, which wg waits for.
func (c *Crowd) launch(ctx context.Context, wg *sync.WaitGroup, r request, pill bool) {
	at, tally := time.Now(), &c.tally
	tally.sent(pill, at)
	select {
	case c.open <- struct{}{}:
	default:
		tally.ended(pill, lost, at, 0)
		return
	}
	wg.Go(func() {
		defer func() { <-c.open }()
		how := c.call(ctx, r, pill)
		tally.ended(pill, how, at, time.Since(at))
	})
}

// call sends r once and judges the answer.
func (c *Crowd) call(ctx context.Context, r request, pill bool) end {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// A body that is there but empty, and that cannot be had again, keeps the
	// transport from sending the request twice by itself.
	body := struct{ io.Reader }{strings.NewReader(r.body)}
	req, err := http.NewRequestWithContext(ctx, r.method, c.target+r.target, body)
	if err != nil {
		return lost
	}
	if r.body != "" {
		req.ContentLength = int64(len(r.body))
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return lost
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return lost
	}
	return judge(resp.StatusCode, string(reply), r.want, pill)
}

// judge says how a request ended. For a pill only the refusal of known poison
// counts as refused: 502 means that it has done its harm.
func judge(status int, reply, want string, pill bool) end {
	switch {
	case status == http.StatusOK && strings.Contains(reply, want):
		return answered
	case status == http.StatusServiceUnavailable,
		!pill && (status == http.StatusBadGateway || status == http.StatusGatewayTimeout):
		return refused
	}
	return lost
}
